package openapi

import (
	"slices"
	"strings"
)

type requestParts struct {
	// inPath maps the placeholders of the path to arguments.
	inPath                  map[string]string
	query, headers, members orderedObject
	// whole is the template of a body that is one argument.
	whole string
}

// arrangeArguments puts every argument and secret into the part of the request
// that the document gives it.
func arrangeArguments(args []argument, a *operationAuth) requestParts {
	r := requestParts{inPath: map[string]string{}}
	for i := range args {
		arg := &args[i]
		template := "{" + arg.name + "}"
		switch arg.in {
		case "path":
			r.inPath[arg.wire] = arg.name
		case "query":
			r.query.addMember(arg.wire, template)
		case "header":
			r.headers.addMember(arg.wire, template)
		default:
			r.whole = template
			r.members.addMember(arg.wire, template)
		}
	}
	for _, s := range a.schemes {
		if s.in == "query" {
			r.query.addMember(s.key, s.text)
		} else {
			r.headers.addMember(s.key, s.text)
		}
	}
	return r
}

// newHandler returns the request as package action reads it.
func (im *importer) newHandler(op *operation, args []argument, b *requestBody, a *operationAuth) (orderedObject, error) {
	r := arrangeArguments(args, a)
	for i := range args {
		if name := args[i].wire; args[i].in == "path" && !strings.Contains(op.path, "{"+name+"}") {
			return nil, newUnfit(op.Node, "the path does not name its parameter {%s}", name)
		}
	}
	path, err := templatePath(op.path, r.inPath)
	if err != nil {
		return nil, newUnfit(op.Node, "%v", err)
	}
	if b.media != "" && b.media != "application/json" {
		r.headers.addMember("Content-Type", b.media)
	}
	h := orderedObject{{"method", op.method}, {"url", im.server.base + path}}
	if len(r.query) > 0 {
		h.addMember("query", r.query)
	}
	if len(r.headers) > 0 {
		h.addMember("headers", r.headers)
	}
	switch {
	case b.media == "":
	case b.whole:
		h.addMember("body", r.whole)
	default:
		h.addMember("body", r.members)
	}
	return h, nil
}

func addHeader(handler *orderedObject, name, value string) {
	v, _ := handler.memberValue("headers")
	headers, _ := v.(orderedObject)
	if !slices.ContainsFunc(headers, func(m objectMember) bool { return strings.EqualFold(m.name, name) }) {
		handler.setMember("headers", append(slices.Clone(headers), objectMember{name, value}))
	}
}
