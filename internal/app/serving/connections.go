package serving

import (
	"log/slog"
	"net"
	"net/http"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/internal/listening"
)

// reserveShare is the part of the descriptors, a quarter, that connections leave
// for a reload, the state and the start of children.
const reserveShare = 4

// Bounds of open connections. Connections without a valid token may take an
// eighth of the descriptors that the process may open, and at most
// maxUnidentified. Connections with a valid token may take a quarter, and at most
// maxKnown.
const (
	unidentifiedShare, maxUnidentified = 8, 512
	knownShare, maxKnown               = 4, 10_000
)

// connectionBounds returns the bounds on the connections of serve.
func connectionBounds() *listening.Crowd {
	return listening.NewCrowd(listening.CrowdOptions{
		Unidentified: maxUnidentified, UnidentifiedShare: unidentifiedShare, Known: maxKnown, KnownShare: knownShare,
	})
}

// admitConnections assigns the connection of each request that the guard accepted to
// the principal. It answers 503 when too many connections are open.
func admitConnections(c *listening.Crowd, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p, ok := auth.PrincipalFrom(r.Context()); ok && !c.Admit(r.Context(), p.Name) {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			httpapi.Refuse(w, http.StatusServiceUnavailable, "too many connections are open, of this principal or of all: close one, or try again")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// newListener returns a listener that keeps running when resources are short.
// Its connections leave the descriptors that everything else needs.
func newListener(l net.Listener, logger *slog.Logger) net.Listener {
	return listening.New(l, &listening.Options{Reserve: listening.Share(reserveShare), Logger: logger})
}
