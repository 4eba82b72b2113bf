package importer

import (
	"net/textproto"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
)

// authSchemes lists the prefixes of header values that hold a secret.
var authSchemes = []string{"Bearer ", "Basic ", "Token ", "token ", "ApiKey ", "bearer "}

// translateHeaders translates the headers that the client sends to a remote server.
func (i *clientImport) translateHeaders(p *plannedServer) {
	if p.entry.URL == "" {
		if len(p.from.Headers) > 0 {
			p.addNote("headers are not carried over: they belong to a url")
		}
		return
	}
	p.entry.Headers = map[string]any{}
	for _, h := range p.from.Headers {
		h.Name = textproto.CanonicalMIMEHeaderKey(h.Name)
		i.translateHeader(p, h)
	}
	if len(p.entry.Headers) == 0 && !p.needsNoLogin() {
		p.addNote("if it wants a login: add oauth to it, and sallyport login %s", p.name)
	}
}

// translateHeader translates one header. The secret is the whole value, or the part
// behind the name of a scheme.
func (i *clientImport) translateHeader(p *plannedServer, h clients.Pair) {
	name := h.Name
	text, refs := i.client.ExpandPair(h, i.env.Home, p.from.Project)
	begin, rest := "", text
	for _, s := range authSchemes {
		if after, ok := strings.CutPrefix(text, s); ok {
			begin, rest = s, after
		}
	}
	whole := len(refs) == 1 && rest == refs[0].Text && !refs[0].HasDefault
	if len(refs) > 0 && !whole {
		if !i.resolveDefaults(p, name, &rest, refs) {
			p.blockServer("the header %s refers to %s in the middle of its value: write the value out", name, refs[0])
			return
		}
	}
	if begin == "" && !whole && i.isHarmless(p, name, rest) && !slices.Contains(p.secretHeaders, name) {
		p.entry.Headers[name] = rest
		return
	}
	ref := "mcp/" + p.name + "/" + name
	p.entry.Headers[name] = secretHeader{Secret: ref, Prefix: begin}
	if whole {
		rest = ""
	}
	i.needSecret(p, name, ref, rest)
}
