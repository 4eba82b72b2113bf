package auth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// bodyFresh is how long after its head a body may end without another
	// look at the token. Bodies that come at once cost nothing more.
	bodyFresh = 100 * time.Millisecond
	// DefaultStandingPause is how often the token of an open stream is looked at.
	DefaultStandingPause = 250 * time.Millisecond
)

// ErrWithdrawn is what the body of a request ends with when the token that let
// it in did not count any more, or stood for something else, once the body was
// there: whoever sends slowly must not outlive a revocation.
var ErrWithdrawn = errors.New("auth: the token of the request does not count any more")

// ask says whose request it is now; a status other than 0 refuses it.
type ask func(ctx context.Context) (p sallyport.Principal, status int)

// arriving is a body on its way.
type arriving struct {
	io.ReadCloser
	still func() bool // reports whether the caller is who was let in
	since time.Time
	err   error // what it ended with
}

// Read ends with [ErrWithdrawn] in place of the end of the body when the
// caller is not who was let in.
func (a *arriving) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.ReadCloser.Read(p)
	if err == nil {
		return n, nil
	}
	if errors.Is(err, io.EOF) && time.Since(a.since) > bodyFresh && !a.still() {
		err = ErrWithdrawn
	}
	a.err = err
	return n, err
}

// equal reports whether a principal is the same and may do the same.
func equal(a, b *sallyport.Principal) bool {
	return a.Name == b.Name && slices.Equal(a.Permissions, b.Permissions) &&
		slices.Equal(a.Personalities, b.Personalities) && (a.Personalities == nil) == (b.Personalities == nil)
}

// hold makes a request end with the token that let it in, as far as nothing
// runs on its behalf: a body before it is whole, and a stream on which a client
// only listens. The function that it returns has to be called at the end.
func (g *Guard) hold(r *http.Request, who sallyport.Principal, again ask) (held *http.Request, end func()) {
	if r.Body != nil && r.Body != http.NoBody {
		ctx := r.Context()
		r.Body = &arriving{ReadCloser: r.Body, since: time.Now(), still: func() bool {
			now, status := again(ctx)
			return status == 0 && equal(&now, &who)
		}}
	}
	if r.Method != http.MethodGet {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(g.pause)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now, status := again(ctx); status != 0 || now.Name != who.Name {
				cancel()
				return
			}
		}
	})
	return r.WithContext(ctx), func() {
		cancel()
		watch.Wait()
	}
}
