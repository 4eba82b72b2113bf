package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// argument is one argument of an action: a parameter of the operation, a
// member of its body, or the whole of it.
type argument struct {
	// name is what the action calls it, wire what the server does.
	name, wire string
	// in is path, query, header or body.
	in       string
	schema   orderedObject
	required bool
}

// unfitError says why an operation cannot be an action.
type unfitError struct {
	at   yamldoc.Node
	text string
}

func (u *unfitError) Error() string { return u.text }

func newUnfit(at yamldoc.Node, format string, args ...any) error {
	return &unfitError{at, fmt.Sprintf(format, args...)}
}

// maxParameters bounds the parameters of one operation, as read.
const maxParameters = 200

// listParameters lists the parameters of an operation and those of its path that it
// does not override.
func (im *importer) listParameters(op *operation) (list []yamldoc.Node, err error) {
	seen := map[string]bool{}
	for _, holder := range []yamldoc.Node{op.Node, op.holder} {
		at := holder.Get("parameters")
		if at.Present() && !at.IsList() {
			return nil, newUnfit(at, "parameters: expected a list, found %s", at.Kind())
		}
		own := map[string]bool{}
		for _, item := range at.Items() {
			n, err := im.followRef(item)
			if err != nil {
				return nil, newUnfit(item, "a parameter %v", err)
			}
			in, name := parameterKey(n)
			key := in + " " + name
			if own[key] {
				return nil, newUnfit(item, "the %s parameter %s stands twice", in, quoteShort(name))
			}
			if own[key] = true; !seen[key] {
				seen[key] = true
				list = append(list, n)
			}
		}
	}
	if len(list) > maxParameters {
		return nil, newUnfit(op.Get("parameters"), "more than %d parameters", maxParameters)
	}
	return list, nil
}

// parameterKey returns what tells parameters of one operation apart.
func parameterKey(n yamldoc.Node) (in, name string) {
	in, _ = n.Get("in").Text()
	name, _ = n.Get("name").Text()
	return in, name
}

// readParameters makes arguments of the parameters of an operation: those of the
// path first, then of the query, the headers and what else there is.
func (im *importer) readParameters(op *operation, a *operationAuth) (out []argument, err error) {
	list, err := im.listParameters(op)
	if err != nil {
		return nil, err
	}
	places := []string{"path", "query", "header"}
	rank := func(n yamldoc.Node) int {
		in, _ := parameterKey(n)
		if i := slices.Index(places, in); i >= 0 {
			return i
		}
		return len(places)
	}
	slices.SortStableFunc(list, func(a, b yamldoc.Node) int { return rank(a) - rank(b) })
	for _, n := range list {
		in, name := parameterKey(n)
		arg, why := im.readParameter(n, in, a)
		switch {
		case why == "":
			out = append(out, arg)
		case arg.required:
			return nil, newUnfit(n, "the %s parameter %s is required: %s", in, quoteShort(name), why)
		default:
			im.addNote(n, Changed, "the %s parameter %s is left out: %s", in, quoteShort(name), why)
		}
	}
	return out, nil
}

// readParameter reads one parameter; why says why an action cannot have it.
func (im *importer) readParameter(n yamldoc.Node, in string, a *operationAuth) (arg argument, why string) {
	arg.in = in
	arg.wire, _ = n.Get("name").Text()
	arg.required, _ = n.Get("required").Bool()
	if why := im.checkPlacement(&arg, a); why != "" {
		return arg, why
	}
	at := n.Get("schema")
	if !at.Present() {
		if n.Get("content").Present() {
			return arg, "it is not plain text but content of its own"
		}
		return arg, "it has no schema"
	}
	arg.schema, _ = im.convertSchema(at, true, maxNodes)
	if text, _ := n.Get("description").Text(); text != "" {
		im.setDescription(&arg.schema, text)
	}
	return arg, im.checkStyle(n, &arg)
}

// checkPlacement checks whether an action can send a parameter where the
// document wants it.
func (im *importer) checkPlacement(arg *argument, a *operationAuth) (why string) {
	switch arg.in {
	case "path":
		arg.required = true
	case "query":
		switch {
		case a.usesValue("query", arg.wire):
			arg.required = false
			return "a secret stands there"
		case arg.wire == "" || strings.ContainsAny(arg.wire, "{}") || !im.texts.isExact(arg.wire):
			return "its name cannot stand in a query"
		}
	case "header":
		switch lower := strings.ToLower(arg.wire); {
		case lower == "accept" || lower == "content-type" || lower == "authorization":
			arg.required = false // OpenAPI 3.0.3 and 3.1.0, section 4.8.12: it is ignored.
			return "the request has one of its own"
		case a.usesValue("header", arg.wire):
			arg.required = false
			return "a secret stands there"
		case !im.mayHold(arg.wire, "{x}"):
			arg.required = false
			return "this header is not for an action to set"
		}
	default:
		return "an action sends none of this kind"
	}
	return ""
}

// mayHold asks package action whether a header may be set to a template.
func (im *importer) mayHold(header, template string) bool {
	key := header + ": " + template
	if ok, known := im.headers[key]; known {
		return ok
	}
	text, err := json.Marshal(map[string]any{
		"id": "probe", "parameters": map[string]any{"x": map[string]any{"type": "string"}},
		"capabilities": map[string]any{"secrets": []string{"a/b"}},
		"handler":      map[string]any{"http": map[string]any{"url": "https://a.example/", "headers": map[string]string{header: template}}},
	})
	if err == nil {
		_, err = action.Decode(text, nil)
	}
	ok := err == nil && im.texts.isExact(header)
	if len(im.headers) < 1<<12 {
		im.headers[key] = ok
	}
	return ok
}

func (im *importer) checkStyle(n yamldoc.Node, arg *argument) (why string) {
	style, _ := n.Get("style").Text()
	explode, given := n.Get("explode").Bool()
	if onlyTypes(arg.schema, "object", "null") {
		return "an object has no place in a text"
	}
	if !onlyTypes(arg.schema, "array", "null") {
		return ""
	}
	if items, _ := arg.schema.memberValue("items"); items != nil {
		if o, ok := items.(orderedObject); ok && onlyTypes(o, "object", "array", "null") {
			return "a list of lists or objects has no place in a text"
		}
	}
	if arg.in == "query" && (style == "" || style == "form") && (explode || !given) {
		return ""
	}
	separator := map[string]string{"": "commas", "form": "commas", "simple": "commas", "pipeDelimited": "bars (|)", "spaceDelimited": "blanks"}[style]
	if separator == "" {
		return "its style " + quoteShort(style) + " is not supported"
	}
	text := arg.schema.textOf("description")
	arg.schema = orderedObject{{"type", "string"}}
	im.setDescription(&arg.schema, strings.TrimSpace(text+" Several values are separated by "+separator+"."))
	im.addNote(n, Changed, "the %s parameter %s is a text: a list is written with %s", arg.in, quoteShort(arg.wire), separator)
	return ""
}

func (im *importer) setDescription(v *orderedObject, text string) {
	fallback := ""
	if old := v.textOf("description"); strings.Contains(old, "Default: ") && !strings.Contains(text, "Default: ") {
		fallback = " " + old[strings.LastIndex(old, "Default: "):]
	}
	if text = im.texts.cleanText(im.texts.cleanText(text, maxArgument)+fallback, maxArgument+2*maxShort); text != "" {
		v.setMember("description", text)
	}
}

// nameArguments gives every argument a name of its own: the first of path, query,
// header and body keeps the name, a later one gets its place behind it.
func nameArguments(args []argument) {
	used := map[string]bool{}
	for i := range args {
		a := &args[i]
		base := toWord(a.wire, "-.")
		if base == "" || strings.Trim(base, "_.-") == "" {
			base = a.in
		}
		base = base[:min(len(base), maxID)]
		// Two names that differ in case only are one to some decoders.
		name := base
		for n := 1; used[strings.ToLower(name)]; n++ {
			tail := "_" + a.in
			if n > 1 {
				tail += "_" + strconv.Itoa(n)
			}
			name = base[:min(len(base), maxID-len(tail))] + tail
		}
		used[strings.ToLower(name)] = true
		a.name = name
	}
}
