package openapi

import (
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

type securityScheme struct {
	name string
	// unsupported says why it is not placed; empty when it is.
	unsupported string
	// in is header or query, key the name there, text the template.
	in, key, text string
	ref           string
}

func (im *importer) readSchemes() error {
	used := map[string]bool{}
	for _, m := range im.doc.Root().Get("components").Get("securitySchemes").Members() {
		n, err := im.followRef(m.Node)
		if err != nil {
			return im.newFault(m.Node, "%s: %v", m.Name, err)
		}
		if !n.IsMapping() {
			return im.newFault(m.Node, "%s: expected a security scheme, found %s", m.Name, n.Kind())
		}
		s := im.readScheme(m.Name, n)
		ref, chosen := im.o.Secrets[m.Name]
		if chosen && s.unsupported != "" {
			return im.newFault(m.Node, "--secret %s: %s is not supported", m.Name, s.unsupported)
		}
		if !chosen {
			ref = uniqueName("providers/"+im.api+"/"+strings.Trim(toWord(m.Name, "-."), "."), used)
		}
		if err := reach.ParseExactRef(ref); err != nil || strings.ContainsAny(ref, "{}") {
			return im.newFault(m.Node, "the reference %s for %s: expected one such as providers/%s/key", quoteShort(ref), m.Name, im.api)
		}
		s.ref, used[ref] = ref, true
		s.text = strings.ReplaceAll(s.text, "{}", "{secret:"+ref+"}")
		im.secured = append(im.secured, s)
	}
	for _, name := range slices.Sorted(maps.Keys(im.o.Secrets)) {
		if _, ok := im.schemeOf(name); !ok {
			return fmt.Errorf("--secret %s: the document has no such security scheme%s", name, im.suggestScheme(name))
		}
	}
	return nil
}

// suggestScheme hints at the schemes that there are.
func (im *importer) suggestScheme(word string) string {
	var names []string
	for _, s := range im.secured {
		names = append(names, s.name)
	}
	if near := yamldoc.Suggest(word, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) == 0 {
		return ": it has none"
	}
	return ": expected " + im.texts.cleanLine(strings.Join(names, ", "))
}

func (im *importer) schemeOf(name string) (securityScheme, bool) {
	i := slices.IndexFunc(im.secured, func(s securityScheme) bool { return s.name == name })
	if i < 0 {
		return securityScheme{}, false
	}
	return im.secured[i], true
}

// readScheme reads one security scheme, with {} in the place of the secret.
func (im *importer) readScheme(name string, n yamldoc.Node) securityScheme {
	s := securityScheme{name: name, text: "{}"}
	kind, _ := n.Get("type").Text()
	s.in, _ = n.Get("in").Text()
	s.key, _ = n.Get("name").Text()
	form, _ := n.Get("scheme").Text()
	switch {
	case kind == "http" && strings.EqualFold(form, "bearer"):
		s.in, s.key, s.text = "header", "Authorization", "Bearer {}"
	case kind == "http":
		s.unsupported = "http " + im.texts.cleanShort(form)
	case kind == "apiKey" && s.in == "header" && im.mayHold(s.key, "{secret:a/b}"):
		s.key = textproto.CanonicalMIMEHeaderKey(s.key)
	case kind == "apiKey" && s.in == "query" && s.key != "" && im.texts.isExact(s.key) && !strings.ContainsAny(s.key, "{}"):
	case kind == "apiKey":
		s.unsupported = "apiKey in " + im.texts.cleanShort(s.in+" "+s.key)
	default:
		s.unsupported = im.texts.cleanShort(kind)
	}
	return s
}

// operationAuth is the credentials that an operation sends.
type operationAuth struct {
	schemes []securityScheme
	// missing says what it also needs and does not send.
	missing string
}

// authOf chooses the first alternative of an operation that can be sent
// whole; an empty one counts.
func (im *importer) authOf(op yamldoc.Node) (operationAuth, yamldoc.Node, error) {
	at := op.Get("security")
	if !at.Present() {
		at = im.doc.Root().Get("security")
	}
	if at.Present() && !at.IsList() {
		return operationAuth{}, at, fmt.Errorf("security: expected a list, found %s", at.Kind())
	}
	var missing []string
	for _, item := range at.Items() {
		a, why, err := im.readAlternative(item)
		if err != nil {
			return operationAuth{}, item, err
		}
		if why == "" {
			return a, item, nil
		}
		missing = append(missing, why)
	}
	return operationAuth{missing: strings.Join(missing, ", or ")}, at, nil
}

// readAlternative reads one alternative of an operation's security; why says
// why it cannot be sent.
func (im *importer) readAlternative(n yamldoc.Node) (a operationAuth, why string, err error) {
	places := map[string]bool{}
	for _, m := range n.Members() {
		s, ok := im.schemeOf(m.Name)
		switch {
		case !ok:
			return a, "", fmt.Errorf("security: %s is no security scheme of the document", quoteShort(m.Name))
		case s.unsupported != "":
			return a, fmt.Sprintf("%s (%s)", m.Name, s.unsupported), nil
		case places[s.in+" "+s.key]:
			return a, fmt.Sprintf("%s (a second value of %s)", m.Name, s.key), nil
		}
		places[s.in+" "+s.key] = true
		a.schemes = append(a.schemes, s)
	}
	return a, "", nil
}

// usesValue reports whether a header or query value is taken by a secret.
func (a *operationAuth) usesValue(in, key string) bool {
	return slices.ContainsFunc(a.schemes, func(s securityScheme) bool {
		return s.in == in && (s.key == key || in == "header" && strings.EqualFold(s.key, key))
	})
}
