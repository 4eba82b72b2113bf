package action

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/schema"
)

// maxTemplateBytes bounds the text of a body in a definition.
const maxTemplateBytes = 1 << 20

// handlerCompiler reads the templates of one handler.
type handlerCompiler struct {
	b       *toolBuilder
	at      string
	params  []string
	secrets map[string]bool
}

// templateRules says what a template may hold.
type templateRules struct {
	params, secrets bool
	place           string
}

func (c *handlerCompiler) compileRequest(h *HTTP) *compiledRequest {
	r := &compiledRequest{response: h.Response}
	r.method = h.Method
	if r.method == "" {
		r.method = http.MethodGet
		if h.Body != nil {
			r.method = http.MethodPost
		}
	}
	switch r.method {
	case http.MethodGet, http.MethodHead:
		if h.Body != nil {
			c.b.addFault(c.at+"/body", "a %s request has no body", r.method)
		}
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		c.b.addFault(c.at+"/method", "expected GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	c.compileURL(r, h.URL)
	c.addQuery(r, h.Query)
	c.addHeaders(r, h.Headers)
	c.addBody(r, h.Body)
	c.checkPointers(&h.Response)
	return r
}

// compileTemplate parses one template and checks its placeholders.
func (c *handlerCompiler) compileTemplate(pointer, text string, w templateRules) template {
	t, err := parseTemplate(text)
	if err != nil {
		c.b.addFault(pointer, "%v", err)
		return nil
	}
	c.checkPlaceholders(pointer, t, w)
	return t
}

func (c *handlerCompiler) checkPlaceholders(pointer string, t template, w templateRules) {
	for _, p := range t {
		switch {
		case p.secret != "" && !w.secrets:
			c.b.addFault(pointer, "a secret has no place in %s: put it into a header value, a query value or the body", w.place)
		case p.secret != "":
			c.secrets[p.secret] = true
			c.b.checkSecret(pointer, p.secret)
		case p.param != "" && !w.params:
			c.b.addFault(pointer, "the placeholder {%s} has no place in %s, which is fixed", p.param, w.place)
		case p.param != "" && !slices.Contains(c.params, p.param):
			c.b.addFault(pointer, "{%s} is no parameter%s", p.param, definition.Meant(p.param, c.params))
		}
	}
}

func (c *handlerCompiler) compileURL(r *compiledRequest, text string) {
	at := c.at + "/url"
	rest, ok := c.compileOrigin(r, at, text)
	if !ok {
		return
	}
	t, err := parseTemplate(rest)
	if err != nil {
		c.b.addFault(at, "%v", err)
		return
	}
	for _, p := range t {
		if strings.ContainsAny(p.text, "#\\ ") || strings.ContainsFunc(p.text, func(r rune) bool { return r < ' ' || r > '~' }) {
			c.b.addFault(at, "the text holds a blank, a backslash, a # or a character that is not ASCII: write it percent-encoded")
			return
		}
	}
	path, query := cutTemplate(t, "?")
	c.compilePath(r, at, path)
	c.compileQuery(r, at, query)
}

// compileOrigin reads scheme, host and port, which are fixed and checked here
// by the rules of the accessor, and returns what follows them.
func (c *handlerCompiler) compileOrigin(r *compiledRequest, at, text string) (rest string, ok bool) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || scheme != "http" && scheme != "https" {
		c.b.addFault(at, "expected an absolute address that begins with https:// or http://")
		return "", false
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	host, rest := rest[:end], rest[end:]
	if strings.ContainsAny(host, "{}") {
		c.b.addFault(at, "a placeholder has no place in the scheme, host, port or user info, which are fixed")
		return "", false
	}
	u, err := egress.ParseURL(scheme + "://" + host + "/")
	if err != nil {
		c.b.addFault(at, "%v", err)
		return "", false
	}
	name, port, err := reach.SplitHostPort(strings.TrimSuffix(u.Host, ":"))
	if err != nil {
		c.b.addFault(at, "%v", err)
		return "", false
	}
	r.scheme, r.host = scheme, joinHost(scheme, name, port)
	return rest, true
}

// joinHost is the canonical host, with a port that is not the scheme's.
func joinHost(scheme, name string, port uint16) string {
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	if port == 0 || scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		return name
	}
	return name + ":" + formatInt(int(port))
}

// cutTemplate cuts at the first separator in a text.
func cutTemplate(t template, separator string) (before, after template) {
	for i, p := range t {
		left, right, found := strings.Cut(p.text, separator)
		if !found {
			continue
		}
		before = slices.Clone(t[:i])
		if left != "" {
			before = append(before, templatePart{text: left})
		}
		if right != "" {
			after = append(after, templatePart{text: right})
		}
		return before, append(after, t[i+1:]...)
	}
	return t, nil
}

func (c *handlerCompiler) compilePath(r *compiledRequest, at string, t template) {
	c.checkPlaceholders(at, t, templateRules{params: true, place: "the path"})
	segments := t.splitTexts("/")
	if len(t) == 0 {
		segments = []template{nil, nil}
	}
	if len(segments[0]) > 0 {
		c.b.addFault(at, "the path does not begin with /")
		return
	}
	r.path = segments[1:]
	for i, s := range r.path {
		for _, p := range s {
			if _, err := url.PathUnescape(p.text); err != nil {
				c.b.addFault(at, "a %% in the path is not followed by two hexadecimal digits")
			}
		}
		text, fixed := s.literalText()
		if plain, err := url.PathUnescape(text); fixed && err == nil && (plain == "." || plain == "..") {
			c.b.addFault(at, "the path holds the segment %q", plain)
		}
		if fixed && text == "" && i < len(r.path)-1 {
			c.b.addFault(at, "the path holds an empty segment")
		}
	}
}

// compileQuery reads the query of the URL, whose texts are percent-encoded.
func (c *handlerCompiler) compileQuery(r *compiledRequest, at string, t template) {
	if len(t) == 0 {
		return
	}
	for _, piece := range t.splitTexts("&") {
		if len(piece) == 0 {
			continue
		}
		name, value := cutTemplate(piece, "=")
		key, fixed := name.literalText()
		if !fixed {
			c.b.addFault(at, "a placeholder has no place in the name of a query value, which is fixed")
			continue
		}
		key, err := url.QueryUnescape(key)
		value = slices.Clone(value)
		for i := range value {
			var bad error
			if value[i].text, bad = url.QueryUnescape(value[i].text); bad != nil {
				err = bad
			}
		}
		if err != nil || key == "" {
			c.b.addFault(at, "the query cannot be read: a name is empty, or a %% is not followed by two hexadecimal digits")
			continue
		}
		c.checkPlaceholders(at, value, templateRules{params: true, secrets: true, place: "the query"})
		r.query = append(r.query, namedTemplate{key, value})
	}
}

func (c *handlerCompiler) addQuery(r *compiledRequest, query map[string]string) {
	inURL := len(r.query)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		at := definition.Below(c.at+"/query", name)
		if name == "" || strings.ContainsAny(name, "{}") {
			c.b.addFault(at, "a placeholder has no place in the name of a query value, which is fixed and not empty")
		}
		if slices.ContainsFunc(r.query[:inURL], func(p namedTemplate) bool { return p.name == name }) {
			c.b.addFault(at, "the name is in the query of the URL already")
		}
		r.query = append(r.query, namedTemplate{name, c.compileTemplate(at, query[name], templateRules{params: true, secrets: true})})
	}
}

// fixedHeaders are what the transport writes, and what makes a server take a
// request for another one.
var fixedHeaders = [...]string{
	"Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Te", "Trailer", "Upgrade",
	"Http2-Settings", "Accept-Encoding", "Expect", "Proxy-Authorization", "Proxy-Connection", "Referer",
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
}

func (c *handlerCompiler) addHeaders(r *compiledRequest, headers map[string]string) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		at := definition.Below(c.at+"/headers", name)
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		w := templateRules{params: true, secrets: true}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			c.b.addFault(at, "not the name of a header, which is fixed")
		case slices.Contains(fixedHeaders[:], canonical):
			c.b.addFault(at, "this header is not for an action to set")
		case seen[canonical]:
			c.b.addFault(at, "the header is given twice, in another case")
		case canonical == "Cookie" || canonical == "Content-Type":
			// A semicolon in an argument would add another cookie, or make the
			// body something else.
			w.params, w.place = false, "the header "+canonical
		}
		seen[canonical] = true
		t := c.compileTemplate(at, headers[name], w)
		for _, p := range t {
			if _, err := headerText(p.text); err != nil {
				c.b.addFault(at, "%v", err)
			}
		}
		r.headers = append(r.headers, namedTemplate{canonical, t})
	}
}

func (c *handlerCompiler) addBody(r *compiledRequest, body json.RawMessage) {
	if body == nil {
		return
	}
	tree, err := schema.Decode(body, &schema.Limits{Bytes: maxTemplateBytes})
	if err != nil {
		c.b.addFault(c.at+"/body", "%v", err)
		return
	}
	r.body = c.bodyOf(c.at+"/body", tree)
}

func (c *handlerCompiler) bodyOf(at string, v any) any {
	switch v := v.(type) {
	case string:
		t := c.compileTemplate(at, v, templateRules{params: true, secrets: true})
		if t == nil {
			return template{}
		}
		return t
	case []any:
		for i := range v {
			v[i] = c.bodyOf(definition.Below(at, formatInt(i)), v[i])
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if t, err := parseTemplate(key); err == nil {
				if _, fixed := t.literalText(); !fixed {
					c.b.addFault(definition.Below(at, key), "a placeholder has no place in the name of a member, which is fixed")
				}
			}
			v[key] = c.bodyOf(definition.Below(at, key), v[key])
		}
	}
	return v
}

func (c *handlerCompiler) checkPointers(r *Response) {
	for name, p := range map[string]string{"value": r.Value, "structured": r.Structured} {
		if p != "" && !isPointer(p) {
			c.b.addFault(c.at+"/response/"+name, "expected a JSON pointer, such as /main/temp")
		}
	}
}
