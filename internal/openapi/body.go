package openapi

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/yamldoc"
)

// wholeBody is the argument that is the whole of a body.
const wholeBody = "body"

type requestBody struct {
	args []argument
	// media is the content type; empty means that nothing is sent.
	media string
	// whole is true when one argument is the whole of it.
	whole bool
}

func (im *importer) bodyOf(op *operation) (b requestBody, err error) {
	at := op.Get("requestBody")
	if !at.Present() {
		return b, nil
	}
	n, err := im.followRef(at)
	if err != nil {
		return b, newUnfit(at, "the body %v", err)
	}
	required, _ := n.Get("required").Bool()
	media, content := jsonContent(n.Get("content"))
	why := ""
	switch {
	case op.method == "GET" || op.method == "HEAD":
		why = "a " + op.method + " request has no body"
	case media == "":
		why = "it is not JSON but " + contentTypes(n.Get("content"))
	}
	if why != "" && required {
		return b, newUnfit(at, "the body is required: %s", why)
	}
	if why != "" {
		im.addNote(at, Changed, "the body is left out: %s", why)
		return b, nil
	}
	b.media = media
	im.fillBody(&b, content.Get("schema"), required)
	return b, nil
}

// fillBody makes arguments of the members of a plain object, else one of the
// whole.
func (im *importer) fillBody(b *requestBody, at yamldoc.Node, required bool) {
	v := orderedObject{}
	if at.Present() {
		var cut bool
		if v, cut = im.convertSchema(at, true, maxNodes); cut {
			im.addNote(at, Changed, "the schema of the body is too large and cut: anything is accepted below")
		}
	}
	v = mergeAllOf(v)
	properties, names := flatBody(v, required)
	if properties == nil {
		b.whole = true
		b.args = []argument{{wire: wholeBody, in: "body", schema: v, required: required}}
		return
	}
	for _, m := range properties {
		schema, _ := m.value.(orderedObject)
		b.args = append(b.args, argument{wire: m.name, in: "body", schema: schema, required: slices.Contains(names, any(m.name))})
	}
}

// flatBody returns the members of an object that says nothing but what its
// members are; nil for anything else. An optional body whose members are
// required stays whole: it can be left out.
func flatBody(v orderedObject, required bool) (properties orderedObject, names []any) {
	value, _ := v.memberValue("properties")
	properties, _ = value.(orderedObject)
	value, _ = v.memberValue("required")
	names, _ = value.([]any)
	typed := v.textOf("type")
	if len(properties) == 0 || len(properties) > maxParameters || typed != "" && typed != "object" || !required && len(names) > 0 {
		return nil, nil
	}
	for _, m := range v {
		is, truth := m.value.(bool)
		switch {
		case m.name == "type" || m.name == "properties" || m.name == "required" || m.name == "description":
		case m.name == "additionalProperties" && truth && !is:
		default:
			return nil, nil
		}
	}
	for _, m := range properties {
		if strings.ContainsAny(m.name, "{}") || m.name == "" {
			return nil, nil
		}
	}
	for _, name := range names {
		if s, _ := name.(string); !properties.hasMember(s) {
			return nil, nil
		}
	}
	return properties, names
}

// mergeAllOf merges a combination of plain objects that have no member in
// common; anything else stays as it is.
func mergeAllOf(v orderedObject) orderedObject {
	value, _ := v.memberValue("allOf")
	parts, _ := value.([]any)
	if len(parts) == 0 {
		return v
	}
	rest := slices.Clone(v)
	rest.removeMember("allOf")
	properties, names, ok := sumMembers(append([]any{rest}, parts...))
	if !ok {
		return v
	}
	out := orderedObject{{"type", "object"}, {"properties", properties}}
	if len(names) > 0 {
		out.addMember("required", removeDuplicates(names))
	}
	if text := v.textOf("description"); text != "" {
		out.addMember("description", text)
	}
	return out
}

// sumMembers adds up the members of plain objects; ok is false when one is none, or
// a member is in two.
func sumMembers(parts []any) (properties orderedObject, names []any, ok bool) {
	properties = orderedObject{}
	for _, p := range parts {
		part, _ := p.(orderedObject)
		for _, m := range mergeAllOf(part) {
			switch m.name {
			case "description":
			case "type":
				if m.value != any("object") {
					return nil, nil, false
				}
			case "properties":
				for _, one := range m.value.(orderedObject) {
					if properties.hasMember(one.name) {
						return nil, nil, false
					}
					properties = append(properties, one)
				}
			case "required":
				names = append(names, m.value.([]any)...)
			default:
				return nil, nil, false
			}
		}
	}
	return properties, names, true
}

// mediaType is what a content type of a document has to look like.
var mediaType = regexp.MustCompile(`^[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+$`)

// jsonContent returns the JSON of a content: application/json before the
// others, which are taken in the order of the document.
func jsonContent(content yamldoc.Node) (media string, n yamldoc.Node) {
	for _, m := range content.Members() {
		name, _, _ := strings.Cut(strings.ToLower(m.Name), ";")
		name = strings.TrimSpace(name)
		switch {
		case name == "application/json":
			return name, m.Node
		case media == "" && name == "*/*":
			media, n = "application/json", m.Node
		case media == "" && strings.HasSuffix(name, "+json") && mediaType.MatchString(name):
			media, n = name, m.Node
		}
	}
	return media, n
}

func contentTypes(content yamldoc.Node) string {
	var names []string
	for _, m := range content.Members() {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return "nothing that is named"
	}
	return strings.Join(names[:min(len(names), 4)], ", ")
}

// answerSchema returns the schema of the answer: of the only one of success,
// where it is an object of JSON.
func (im *importer) answerSchema(op *operation, most int) (v orderedObject, accept string) {
	var ok []yamldoc.Node
	for _, m := range op.Get("responses").Members() {
		if strings.HasPrefix(m.Name, "2") {
			ok = append(ok, m.Node)
		}
	}
	if len(ok) != 1 || op.method == "HEAD" {
		return nil, ""
	}
	n, err := im.followRef(ok[0])
	if err != nil {
		im.addNote(ok[0], Changed, "the answer %v: any is taken", err)
		return nil, ""
	}
	accept, content := jsonContent(n.Get("content"))
	if len(n.Get("content").Members()) > 1 {
		accept = ""
	}
	if most == 0 || !content.Get("schema").Present() || len(n.Get("content").Members()) > 1 {
		return nil, accept
	}
	v, _ = im.convertSchema(content.Get("schema"), false, most)
	if flat := mergeAllOf(v); onlyTypes(flat, "object") {
		return flat, accept
	}
	return nil, accept
}
