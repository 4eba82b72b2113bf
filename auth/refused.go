package auth

import (
	"context"
	"net/http"
	"sync"

	"github.com/sallyport/sallyport/internal/text"
)

// refusedKey is the key under which the context of a request holds its [refusal].
type refusedKey struct{}

// refusal is why the token of a request was refused: for the log, since the
// caller is told no more than RFC 6750 says. It is safe for concurrent use.
type refusal struct {
	mu  sync.Mutex
	why []string
}

// noteRefusal notes why a token was refused, when somewhere up the call a guard
// wants to know.
func noteRefusal(ctx context.Context, why string) {
	if r, ok := ctx.Value(refusedKey{}).(*refusal); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.why = append(r.why, why)
	}
}

// describeReason returns the last reason that was noted, or the one that always holds.
func (r *refusal) describeReason() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.why) == 0 {
		return "no principal has this token"
	}
	return r.why[len(r.why)-1]
}

// loggedBytes bounds what a log line holds of a path or an address, which the
// client chooses.
const loggedBytes = 256

// logRefusal writes one line about a request that is not let in. It holds nothing
// of the token.
func (g *Guard) logRefusal(r *http.Request, status int, why string) {
	g.logger.WarnContext(r.Context(), "a request was refused", "status", status, "why", text.ClipBytes(why, loggedBytes),
		"remote", r.RemoteAddr, "method", text.ClipBytes(r.Method, loggedBytes), "path", text.ClipBytes(r.URL.Path, loggedBytes))
}
