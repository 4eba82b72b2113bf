package openapi

import (
	"slices"
	"strings"
)

// request is what a handler is made of.
type request struct {
	// inPath maps the placeholders of the path to arguments.
	inPath                  map[string]string
	query, headers, members object
	// whole is the template of a body that is one argument.
	whole string
}

// arrange puts every argument and secret into the place that the document
// gives it.
func arrange(args []argument, a *auth) request {
	r := request{inPath: map[string]string{}}
	for i := range args {
		arg := &args[i]
		template := "{" + arg.name + "}"
		switch arg.in {
		case "path":
			r.inPath[arg.wire] = arg.name
		case "query":
			r.query.add(arg.wire, template)
		case "header":
			r.headers.add(arg.wire, template)
		default:
			r.whole = template
			r.members.add(arg.wire, template)
		}
	}
	for _, s := range a.schemes {
		if s.in == "query" {
			r.query.add(s.key, s.text)
		} else {
			r.headers.add(s.key, s.text)
		}
	}
	return r
}

// handler is the request as package action takes it.
func (im *importer) handler(op *operation, args []argument, b *body, a *auth) (object, error) {
	r := arrange(args, a)
	for i := range args {
		if name := args[i].wire; args[i].in == "path" && !strings.Contains(op.path, "{"+name+"}") {
			return nil, notFor(op.Node, "the path does not name its parameter {%s}", name)
		}
	}
	path, err := templatePath(op.path, r.inPath)
	if err != nil {
		return nil, notFor(op.Node, "%v", err)
	}
	if b.media != "" && b.media != "application/json" {
		r.headers.add("Content-Type", b.media)
	}
	h := object{{"method", op.method}, {"url", im.server.base + path}}
	if len(r.query) > 0 {
		h.add("query", r.query)
	}
	if len(r.headers) > 0 {
		h.add("headers", r.headers)
	}
	switch {
	case b.media == "":
	case b.whole:
		h.add("body", r.whole)
	default:
		h.add("body", r.members)
	}
	return h, nil
}

// addHeader sets a header that is not set.
func addHeader(handler *object, name, value string) {
	v, _ := handler.get("headers")
	headers, _ := v.(object)
	if !slices.ContainsFunc(headers, func(m member) bool { return strings.EqualFold(m.name, name) }) {
		handler.set("headers", append(slices.Clone(headers), member{name, value}))
	}
}
