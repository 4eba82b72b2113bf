package egress

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
)

// maxFilledBody bounds the body of a request into which a value may be put: it
// is held in memory. What a program logs in with has less than a few KiB.
const maxFilledBody = 256 << 10

// fillBody puts values into the body of a request: forms and JSON. Any other
// body, and a longer one, passes as it comes until a stand-in shows in it; then
// it ends with the refusal. An error that is no refusal is one of reading.
func (s *hostSwap) fillBody(out *http.Request, where string) (misplacedAt, error) {
	if out.Body == http.NoBody || len(s.standIns) == 0 {
		return "", nil
	}
	kind := filledKind(out.Header)
	if kind == "" || out.ContentLength > maxFilledBody {
		out.Body = s.watchBody(out.Body, where)
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(out.Body, maxFilledBody+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxFilledBody {
		out.Body = s.watchBody(io.MultiReader(bytes.NewReader(text), out.Body), where)
		return "", nil
	}
	var filled string
	var bad misplacedAt
	if kind == kindForm {
		filled, bad = s.fillPairs(string(text), "a form")
	} else {
		filled, bad = s.fillJSON(string(text))
	}
	out.Body, out.ContentLength = io.NopCloser(strings.NewReader(filled)), int64(len(filled))
	if filled == "" {
		out.Body = http.NoBody
	}
	return bad, nil
}

const (
	kindForm = "application/x-www-form-urlencoded"
	kindJSON = "application/json"
)

// filledKind returns the kind of a body into which values are put, "" for any
// other: one in another coding or character set has another reading.
func filledKind(h http.Header) string {
	if len(h["Content-Type"]) != 1 || len(h["Content-Encoding"]) > 0 {
		return ""
	}
	kind, params, err := mime.ParseMediaType(h["Content-Type"][0])
	if set, ok := params["charset"]; err != nil || ok && !strings.EqualFold(set, "utf-8") {
		return ""
	}
	switch {
	case kind == kindForm:
		return kindForm
	case kind == kindJSON, strings.HasSuffix(kind, "+json"):
		return kindJSON
	}
	return ""
}

// watchBody returns a body that ends with a refusal where a stand-in begins. No
// part of it was sent then.
func (s *hostSwap) watchBody(body io.Reader, where string) io.ReadCloser {
	w := &scrubber{src: body, next: make([]int, len(s.standIns)), size: make([]int, len(s.standIns))}
	for _, in := range s.standIns {
		w.pairs = append(w.pairs, textPair{in.placeholder, ""})
	}
	w.stop = misplacedAt("in a body that is neither a form nor JSON of at most 256 KiB").newRefusal(where)
	return io.NopCloser(w)
}
