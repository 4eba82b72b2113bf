package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/uritemplate"
	"github.com/sallyport/sallyport/output"
)

// Bounds of what a tool of another form lists.
const (
	// maxResources bounds the resources of one tool.
	maxResources = 1000
	// maxURI bounds a URI in bytes: what servers and proxies accept as one.
	maxURI = 8 << 10
	// maxResourceText bounds the name, title and description of a resource,
	// in bytes, each.
	maxResourceText = 16 << 10
)

// resourceArgs is the schema of every tool of FormResource.
var resourceArgs = json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string","minLength":1,"maxLength":8192}},"required":["uri"],"additionalProperties":false}`)

// checkForm checks what depends on the form, and returns the schema of the
// arguments.
func (c *declarationChecker) checkForm() json.RawMessage {
	t := c.tool
	if t.Form != sallyport.FormResource && t.Resources != nil {
		c.addFault("", "Resources belong to the form resource only")
	}
	if t.Form != sallyport.FormTool && t.Returns != nil {
		c.addFault("", "Returns belong to tools only: the form %s answers in parts", t.Form)
	}
	switch t.Form {
	case sallyport.FormTool:
		return t.Schema
	case sallyport.FormPrompt:
		if err := checkPromptSchema(t.Schema); err != nil {
			c.addFault("", "schema: %v", err)
		}
		return t.Schema
	case sallyport.FormResource:
		if t.Schema != nil {
			c.addFault("", "schema: the form resource has none of its own, its one argument is uri")
		}
		return resourceArgs
	default:
		c.addFault("", "form %q: expected nothing, prompt or resource", t.Form)
		return t.Schema
	}
}

// checkPromptSchema holds the arguments of a prompt to what clients can ask a
// person for: texts by name.
func checkPromptSchema(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(raw, &doc); err != nil {
		return errors.New("expected an object")
	}
	for key := range doc {
		switch key {
		case "$schema", "$id", "$comment", "title", "description", "type", "properties", "required", "additionalProperties":
		default:
			return fmt.Errorf("a prompt's arguments are texts by name: expected properties, not %q", key)
		}
	}
	var properties map[string]struct {
		Type any   `json:"type"`
		Enum []any `json:"enum"`
	}
	if text, ok := doc["properties"]; ok && json.Unmarshal(text, &properties) != nil {
		return errors.New("properties: expected an object of objects")
	}
	for name, p := range properties {
		texts := len(p.Enum) > 0 && !slices.ContainsFunc(p.Enum, func(v any) bool { _, ok := v.(string); return !ok })
		if p.Type != "string" && (p.Type != nil || !texts) {
			return fmt.Errorf("property %q: the arguments of a prompt are of type string", name)
		}
	}
	return nil
}

// resourceMatcher matches the URIs that a tool of FormResource reads.
type resourceMatcher struct {
	exact     map[string]bool
	templates []*uritemplate.Template
	cost      int // of all templates
}

// compileResources checks the resources that the tool lists and compiles
// them.
func (c *declarationChecker) compileResources() *resourceMatcher {
	t := c.tool
	if t.Form != sallyport.FormResource {
		return nil
	}
	if n := len(t.Resources); n == 0 || n > maxResources {
		c.addFault("", "Resources: expected 1 to %d, found %d", maxResources, n)
		return nil
	}
	out, seen := &resourceMatcher{exact: map[string]bool{}}, map[string]bool{}
	for i := range t.Resources {
		res := &t.Resources[i]
		tpl, err := checkResource(res)
		if key := resourceKey(res); err == nil && seen[key] {
			err = errors.New("it is listed twice")
		} else {
			seen[key] = true
		}
		switch {
		case err != nil:
			c.addFault("", "resource %q: %v", cmp.Or(res.URI, res.Template), err)
		case tpl != nil:
			out.templates = append(out.templates, tpl)
			out.cost += tpl.Cost()
		default:
			out.exact[res.URI] = true
		}
	}
	return out
}

// CheckResource says what Register would refuse of a resource, so that who
// lists what another party wrote can leave it out; nil when it is well formed.
func CheckResource(res *sallyport.Resource) error {
	_, err := checkResource(res)
	return err
}

// checkResource returns the compiled template of a family.
func checkResource(res *sallyport.Resource) (*uritemplate.Template, error) {
	switch {
	case (res.URI == "") == (res.Template == ""):
		return nil, errors.New("expected exactly one of URI and Template")
	case res.Name == "":
		return nil, errors.New("its Name is empty")
	case max(len(res.Name), len(res.Title), len(res.Description)) > maxResourceText:
		return nil, fmt.Errorf("its Name, Title or Description has more than %d bytes", maxResourceText)
	case res.Size < 0:
		return nil, errors.New("its Size is negative")
	case res.MediaType != "" && mediaType(res.MediaType) == "":
		return nil, errors.New("its MediaType is no media type such as text/plain")
	}
	if res.Template == "" {
		return nil, checkURI(res.URI)
	}
	if err := checkURI(res.Template); err != nil {
		return nil, err
	}
	return uritemplate.Parse(res.Template)
}

// checkURI refuses what is no absolute URI, or would not survive the cleaning
// of what clients are shown.
func checkURI(uri string) error {
	scheme, rest, ok := strings.Cut(uri, ":")
	switch {
	case len(uri) > maxURI:
		return fmt.Errorf("a URI has at most %d bytes", maxURI)
	case !ok || rest == "" || !uriScheme().MatchString(scheme):
		return errors.New("expected an absolute URI such as file:///notes.txt")
	case !utf8.ValidString(uri) || strings.ContainsAny(uri, " \t\n\"<>\\") || !output.Plain().Accepts(uri):
		return errors.New("the URI has characters that a URI cannot hold")
	}
	return nil
}

// uriScheme is a scheme (RFC 3986, 3.1).
var uriScheme = text.Pattern(`^[A-Za-z][A-Za-z0-9+.-]*$`)

// resourceKey tells resources apart: no URI is a template.
func resourceKey(res *sallyport.Resource) string {
	if res.URI != "" {
		return "u" + res.URI
	}
	return "t" + res.Template
}

// How a tool reads a URI, the closer match the higher.
const (
	readsNot = iota
	readsFamily
	readsExactly
)

// match reports how the tool reads a URI. One that would take too long with
// that many templates is read by none.
func (r *resourceMatcher) match(uri string) int {
	switch {
	case r.exact[uri]:
		return readsExactly
	case len(uri)*r.cost > uritemplate.MaxMatching:
		return readsNot
	case slices.ContainsFunc(r.templates, func(t *uritemplate.Template) bool { return t.Match(uri) }):
		return readsFamily
	default:
		return readsNot
	}
}

// mediaType returns a media type as it stands, without parameters that are
// texts, and "" for what is none.
func mediaType(s string) string {
	const most = 255
	if len(s) > most {
		return ""
	}
	kind, parameters, err := mime.ParseMediaType(s)
	if _, sub, ok := strings.Cut(kind, "/"); err != nil || !ok || sub == "" {
		return ""
	}
	for _, value := range parameters {
		if strings.ContainsAny(value, " \t\"<>") {
			return kind
		}
	}
	return s
}
