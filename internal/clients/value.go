package clients

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// Ref is a reference in a value that nothing here can look up.
type Ref struct {
	// Kind is env, input, or what else stands before the name; empty for what
	// is no reference that is known.
	Kind string
	// Name is what is referred to.
	Name string
	// Text is the reference as it stands.
	Text string
	// Default is the text in its place when there is none.
	Default string
	// HasDefault says that the reference names one.
	HasDefault bool
}

// String is the reference without its default, which may be a secret.
func (r Ref) String() string {
	if r.Kind == "" || r.Kind == "env" && !strings.Contains(r.Text, "env:") || r.HasDefault {
		return "${" + r.Name + "}"
	}
	return "${" + r.Kind + ":" + r.Name + "}"
}

var (
	editorRef = text.Pattern(`\$\{([^{}]*)\}`)
	// dollarRef is shellRef, and a name without braces.
	dollarRef = text.Pattern(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}|([A-Za-z_][A-Za-z0-9_]*))`)
	shellRef  = text.Pattern(`\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\}`)
)

// Expand returns a text with the folders that it refers to in their place, and
// the references that remain.
func (c *Client) Expand(text, home, project string) (expanded string, refs []Ref) {
	switch c.Variables {
	case EditorVariables:
		expanded = editorRef().ReplaceAllStringFunc(text, func(found string) string {
			ref := editorRef().FindStringSubmatch(found)[1]
			if folder, ok := editorFolder(ref, home, project); ok {
				return folder
			}
			kind, name, ok := strings.Cut(ref, ":")
			if !ok {
				kind, name = "", ref
			}
			refs = append(refs, Ref{Kind: kind, Name: name, Text: found})
			return found
		})
		return expanded, refs
	case ShellVariables:
		for _, m := range shellRef().FindAllStringSubmatchIndex(text, -1) {
			r := Ref{Kind: "env", Name: text[m[2]:m[3]], Text: text[m[0]:m[1]], HasDefault: m[4] >= 0}
			if r.HasDefault {
				r.Default = text[m[4]:m[5]]
			}
			refs = append(refs, r)
		}
		return text, refs
	case DollarVariables:
		for _, m := range dollarRef().FindAllStringSubmatch(text, -1) {
			refs = append(refs, Ref{Kind: "env", Name: cmp.Or(m[1], m[3]), Text: m[0], Default: m[2], HasDefault: strings.Contains(m[0], ":-")})
		}
		return text, refs
	default:
		return text, nil
	}
}

// ExpandPair is Expand for the value of a variable or a header, which may end in
// the value of a variable of the client's environment.
func (c *Client) ExpandPair(p Pair, home, project string) (expanded string, refs []Ref) {
	if p.Variable == "" {
		return c.Expand(p.Value, home, project)
	}
	r := Ref{Kind: "env", Name: p.Variable, Text: "${" + p.Variable + "}"}
	return p.Value + r.Text, []Ref{r}
}

// editorFolder is what a reference to a folder means.
func editorFolder(ref, home, project string) (text string, ok bool) {
	switch ref {
	case "userHome":
		return home, home != ""
	case "workspaceFolder", "workspaceRoot", "cwd":
		return project, project != ""
	case "workspaceFolderBasename":
		return filepath.Base(project), project != ""
	case "pathSeparator", "/":
		return string(filepath.Separator), true
	default:
		return "", false
	}
}
