package logging

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// Request is what the lines about one request have in common. It is filled in while
// the request is served, by one goroutine at a time.
type Request struct {
	// ID names the request in the log; a client is told it in X-Request-Id.
	ID string
	// Principal is who the guard let in; empty until then.
	Principal string
}

type requestKey struct{}

// WithRequest returns a context for what happens because of a request.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestFrom returns the request because of which something happens, or nil.
func RequestFrom(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// NewID returns an id for a request: 96 random bits.
func NewID() string {
	var b [12]byte
	// Read never fails since Go 1.24: it aborts the program instead.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
