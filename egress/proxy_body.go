package egress

import (
	"io"
	"net/http"
)

// fillBody lets the body of a request pass until a stand-in shows in it; then
// it ends with the refusal.
func (s *swap) fillBody(out *http.Request, where string) (misplaced, error) {
	if out.Body == http.NoBody || len(s.there) == 0 {
		return "", nil
	}
	out.Body = s.watch(out.Body, where)
	return "", nil
}

// watch returns a body that ends with a refusal where a stand-in begins. No
// part of it was sent then.
func (s *swap) watch(body io.Reader, where string) io.ReadCloser {
	w := &scrubber{src: body, next: make([]int, len(s.there)), size: make([]int, len(s.there))}
	for _, in := range s.there {
		w.pairs = append(w.pairs, pair{in.placeholder, ""})
	}
	w.stop = misplaced("in a body").refusal(where)
	return io.NopCloser(w)
}
