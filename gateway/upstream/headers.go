package upstream

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// setParamHeaders sets the headers that repeat what a request asks for, in protocol
// versions that require them.
func (r *serverRequest) setParamHeaders(h http.Header) {
	if h.Get(versionHeader) < stateless {
		return
	}
	h["Mcp-Method"], h["Mcp-Name"] = []string{r.method}, []string{r.name}
	if len(r.headers) == 0 {
		return
	}
	var args any
	if json.Unmarshal(r.args, &args) != nil {
		return
	}
	for _, repeated := range r.headers {
		v := args
		for _, key := range repeated.Path {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if text, ok := headerValue(v); ok {
			h[repeated.Name] = []string{text}
		}
	}
}

// headerValue returns an argument as the text of a header. The argument is a
// string, a boolean or a whole number that every reader reads in the same way.
func headerValue(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return headerText(v), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		const most = 1<<53 - 1
		return strconv.FormatInt(int64(v), 10), v == math.Trunc(v) && math.Abs(v) <= most
	default:
		return "", false
	}
}

// headerText encodes a text for a header. It uses base64 for texts that no
// header can hold and for texts that look like base64 values.
func headerText(s string) string {
	const before, after = "=?base64?", "?="
	odd := strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
	if odd || strings.TrimSpace(s) != s || strings.HasPrefix(s, before) && strings.HasSuffix(s, after) {
		return before + base64.StdEncoding.EncodeToString([]byte(s)) + after
	}
	return s
}
