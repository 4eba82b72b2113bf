package action

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/spelling"
	"github.com/sallyport/sallyport/schema"
)

// maxURLBytes bounds an address, as the accessor does.
const maxURLBytes = 8192

// userAgent says who is asking, honestly.
const userAgent = "sallyport/1.0 (+https://github.com/sallyport/sallyport)"

// readValues reads the arguments, with numbers in canonical form, and the secrets
// of one call.
func (r *compiledRequest) readValues(ctx context.Context, c *sallyport.Call) (*callValues, error) {
	args, err := decodeArguments(c)
	if err != nil {
		return nil, err
	}
	v := &callValues{args: args, secrets: make(map[string]string, len(r.secrets))}
	for _, ref := range r.secrets {
		s, err := c.Secrets.Get(ctx, ref)
		if err != nil {
			return nil, err
		}
		v.secrets[ref] = s.Reveal()
	}
	return v, nil
}

func decodeArguments(c *sallyport.Call) (map[string]any, error) {
	doc, err := schema.Parse(c.Args)
	if err != nil {
		return nil, err
	}
	tree, err := schema.Decode(doc.Canonical(), nil)
	if err != nil {
		return nil, err
	}
	args, _ := tree.(map[string]any)
	return args, nil
}

// buildRequest returns the request. What it returns goes to the origin of the
// definition, with its number of path segments, its names of query values and
// its headers.
func (r *compiledRequest) buildRequest(ctx context.Context, v *callValues) (*http.Request, error) {
	target, err := r.fillURL(v)
	if err != nil {
		return nil, err
	}
	body, err := r.fillBodyText(v)
	if err != nil {
		return nil, err
	}
	u, err := egress.ParseURL(target)
	if err != nil || u.Scheme != r.scheme || !strings.EqualFold(u.Host, r.host) ||
		strings.Count(u.EscapedPath(), "/") != len(r.path) || u.Fragment != "" {
		return nil, sallyport.InputInvalid("the arguments do not fit into the address of the request, which may be too long")
	}
	var content io.Reader = http.NoBody
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), content)
	if err != nil {
		return nil, sallyport.InputInvalid("the arguments do not fit into a request")
	}
	if err := r.fillHeader(req.Header, v); err != nil {
		return nil, err
	}
	if body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

func (r *compiledRequest) fillURL(v *callValues) (string, error) {
	var b strings.Builder
	b.WriteString(r.scheme + "://" + r.host)
	for _, s := range r.path {
		text, err := fillSegment(s, v)
		if err != nil {
			return "", err
		}
		b.WriteString("/" + text)
	}
	separator := byte('?')
	for _, p := range r.query {
		list, err := p.listValues(v)
		if err != nil {
			return "", err
		}
		for _, text := range list {
			b.WriteByte(separator)
			b.WriteString(url.QueryEscape(p.name) + "=" + url.QueryEscape(text))
			separator = '&'
		}
	}
	return b.String(), nil
}

// fillSegment returns one segment of the path. The texts of the definition are
// percent-encoded already.
func fillSegment(t template, v *callValues) (string, error) {
	text, given, err := t.fillText(v, pathText)
	if err != nil {
		return "", err
	}
	if !given {
		return "", sallyport.InputInvalid(paramsOf(t) + ": is needed for the path of the request")
	}
	if _, fixed := t.literalText(); fixed {
		return text, nil
	}
	if len(text) > maxURLBytes {
		return "", sallyport.InputInvalid(paramsOf(t) + ": is too long for the path of a request")
	}
	plain, err := url.PathUnescape(text)
	if err != nil || plain == "" || climbsUp(plain) {
		return "", sallyport.InputInvalid(paramsOf(t) + `: an empty text, "." and ".." are no segment of a path`)
	}
	return text, nil
}

// climbsUp reports whether a segment is a way up, or would be to a server that
// takes %2F or a backslash for a slash, that decodes twice, or that leaves
// parameters out.
func climbsUp(segment string) bool {
	for {
		for piece := range strings.FieldsFuncSeq(segment, func(r rune) bool { return r == '/' || r == '\\' }) {
			if piece, _, _ = strings.Cut(piece, ";"); piece == "." || piece == ".." {
				return true
			}
		}
		next := spelling.UnescapePercent(segment)
		if next == segment {
			return false
		}
		segment = next
	}
}

func paramsOf(t template) string {
	var names []string
	for _, p := range t {
		if p.param != "" {
			names = append(names, "/"+p.param)
		}
	}
	return strings.Join(names, ", ")
}

// pathText encodes an argument so that it is part of one segment.
func pathText(s string) (string, error) {
	if !plainText(s) {
		return "", errors.New("a control character has no place in a path")
	}
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; isUnreserved(c) {
			b.WriteByte(c)
		} else {
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		}
	}
	return b.String(), nil
}

// isUnreserved reports whether a byte is among the unreserved characters of RFC
// 3986, section 2.3.
func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// plainText reports whether a text is UTF-8 without control characters.
func plainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// headerText refuses what would end a header or begin another one.
func headerText(s string) (string, error) {
	if !plainText(s) {
		return "", errors.New("a control character has no place in a header")
	}
	return s, nil
}

// listValues returns the values of one name of the query: none when an argument
// is absent, several when it is a list.
func (p *namedTemplate) listValues(v *callValues) ([]string, error) {
	if name, ok := p.value.loneParam(); ok {
		if items, ok := v.args[name].([]any); ok {
			list := make([]string, len(items))
			for i, item := range items {
				var err error
				if list[i], err = scalarText(name+"/"+formatInt(i), item); err != nil {
					return nil, err
				}
			}
			return list, nil
		}
	}
	text, given, err := p.value.fillText(v, nil)
	if err != nil || !given {
		return nil, err
	}
	return []string{text}, nil
}

func (r *compiledRequest) fillHeader(h http.Header, v *callValues) error {
	h.Set("Accept", "application/json, text/*;q=0.9, */*;q=0.1")
	h.Set("User-Agent", userAgent)
	for _, p := range r.headers {
		text, given, err := p.value.fillText(v, headerText)
		if err != nil {
			return err
		}
		if given {
			h.Set(p.name, text)
		}
	}
	return nil
}

// fillBodyText returns the body, nil when there is none.
func (r *compiledRequest) fillBodyText(v *callValues) ([]byte, error) {
	if r.body == nil {
		return nil, nil
	}
	tree, given, err := fillBody(r.body, v)
	if err != nil || !given {
		return nil, err
	}
	return definition.Compact(tree)
}

// fillBody puts arguments into the places of templates. given is false when
// an argument of a text is absent: the member or element is left out.
func fillBody(node any, v *callValues) (tree any, given bool, err error) {
	switch node := node.(type) {
	case template:
		if name, ok := node.loneParam(); ok {
			value, present := v.args[name]
			return value, present, nil
		}
		return boxText(node.fillText(v, nil))
	case []any:
		list := make([]any, 0, len(node))
		for _, child := range node {
			value, given, err := fillBody(child, v)
			if err != nil {
				return nil, false, err
			}
			if given {
				list = append(list, value)
			}
		}
		return list, true, nil
	case map[string]any:
		object := make(map[string]any, len(node))
		for key, child := range node {
			value, given, err := fillBody(child, v)
			if err != nil {
				return nil, false, err
			}
			if given {
				object[key] = value
			}
		}
		return object, true, nil
	default:
		return node, true, nil
	}
}

func boxText(s string, given bool, err error) (any, bool, error) { return s, given, err }
