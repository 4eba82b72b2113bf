// Package attached takes over the files that clients send along with their
// calls. [Arguments] finds the arguments of a tool that take files, [ReadContent] reads
// a file that stands in the place of such an argument, and a [Shelf] keeps files
// for principals, each within its bounds.
package attached

import (
	"encoding/json"
	"maps"
	"slices"
)

// Form is the form in which a tool gets a file.
type Form string

// The forms, and what marks them in the schema of a property of type string.
const (
	// FormRef is the reference of an attachment of the turn: format is attachment.
	FormRef Form = "ref"
	// FormBase64 is the content in base64: contentEncoding is base64.
	FormBase64 Form = "base64"
	// FormText is the content, which is text: contentMediaType without
	// contentEncoding.
	FormText Form = "text"
)

// Argument is an argument of a tool that takes a file.
type Argument struct {
	// Name is the name of the argument.
	Name string
	// Form is the form of the file.
	Form Form
	// List says that the argument is a list of files.
	List bool
}

// property is what counts in the schema of a property.
type property struct {
	Type      any             `json:"type"`
	Format    string          `json:"format"`
	Encoding  string          `json:"contentEncoding"`
	MediaType string          `json:"contentMediaType"`
	Items     json.RawMessage `json:"items"`
}

// Arguments returns the arguments of a schema that take files, sorted by name.
// Only properties of the arguments themselves count, and only those that are
// strings or lists of strings and nothing else.
func Arguments(schema json.RawMessage) []Argument {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &doc) != nil {
		return nil
	}
	var found []Argument
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		var p property
		if json.Unmarshal(doc.Properties[name], &p) != nil {
			continue // true or false
		}
		list := p.Type == "array"
		if list && (len(p.Items) == 0 || json.Unmarshal(p.Items, &p) != nil) {
			continue
		}
		if form := p.fileForm(); form != "" {
			found = append(found, Argument{name, form, list})
		}
	}
	return found
}

// fileForm returns the form of the file that a property takes; "" for none.
func (p *property) fileForm() Form {
	switch {
	case p.Type != "string":
		return ""
	case p.Format == "attachment":
		return FormRef
	case p.Encoding == "base64":
		return FormBase64
	case p.Encoding == "" && p.MediaType != "":
		return FormText
	default:
		return ""
	}
}
