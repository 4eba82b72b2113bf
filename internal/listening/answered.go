package listening

import (
	"net/http"
	"time"
)

// unreadWait bounds the wait for a byte of a body that was not read.
const unreadWait = 100 * time.Millisecond

// KeepAnswers wraps the handler of all requests, next to the server. A client
// that ends its connection with a request may still send the body when it is
// answered. To close then would reset the connection and lose the answer. The
// library waits a moment before it closes, but in this case only when the body
// broke a bound: one unread byte breaks a bound of zero.
func KeepAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := r.Body
		next.ServeHTTP(w, r)
		if !r.Close || r.ContentLength == 0 {
			return
		}
		// Writers that know no deadlines are those of tests.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(unreadWait))
		_, _ = http.MaxBytesReader(w, body, 0).Read(make([]byte, 1))
	})
}
