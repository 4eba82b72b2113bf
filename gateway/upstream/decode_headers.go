package upstream

import (
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sallyport/sallyport/internal/definition"
)

// fixedHeaders are the headers that the transport writes and those of a single
// hop.
var fixedHeaders = [...]string{
	"Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Expect", "Forwarded", "Host", "Http2-Settings",
	"Keep-Alive", "Last-Event-Id", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id", "Origin", "Referer", "Te",
	"Trailer", "Transfer-Encoding", "Upgrade", "Via", "X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
}

// decodeRemote reads how a remote server is reached and what is sent to it.
func (d *serverDecoder) decodeRemote(top *definition.Object, local bool) {
	if v, at, ok := top.Take("transport", ""); ok {
		switch text, _ := v.(string); {
		case local:
			d.Fault(at, "is only for a server with url: a command speaks on standard input and output")
		case text != string(TransportHTTP) && text != string(TransportSSE):
			d.Fault(at, "expected http, which is streamable HTTP, or sse, the older transport")
		default:
			d.s.Transport = Transport(text)
		}
	}
	v, at, ok := top.Take("headers", "")
	switch {
	case !ok:
		return
	case local:
		d.Fault(at, "is only for a server with url: for a command write env")
		return
	}
	seen := map[string]bool{}
	d.decodeEntries(at, v, func(at, name string, v any) {
		h := Header{Name: textproto.CanonicalMIMEHeaderKey(name)}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			d.Fault(at, "not the name of a header")
		case slices.Contains(fixedHeaders[:], h.Name), strings.HasPrefix(h.Name, "Proxy-"):
			d.Fault(at, "a declaration may not set this header: remove it")
		case seen[h.Name]:
			d.Fault(at, "the header is given twice, in upper and lower case: keep one")
		}
		seen[h.Name] = true
		if text, plain := v.(string); plain {
			h.Value = text
		} else if o := d.Object(at, v); o != nil {
			h.Secret, h.Value = d.decodeSecret(o, at, "secret", true), o.Text("prefix", "", false)
			o.Done()
		}
		if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			d.Fault(at, "a header cannot contain this character")
		}
		d.s.Headers = append(d.s.Headers, h)
	})
}
