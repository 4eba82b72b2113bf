// Package callback waits on the loopback interface for a browser that returns from a
// login.
package callback

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/internal/serverlist"
)

// Callback waits on the loopback interface for the browser that returns from an
// issuer.
type Callback struct {
	listener net.Listener
	server   *http.Server
}

// Listen listens on the loopback interface only, where no tool reaches it. Port 0
// selects a free port.
func Listen(ctx context.Context, own *serverlist.Listeners, port int) (*Callback, error) {
	l, err := own.Open(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--port: %w", err)
	}
	return &Callback{listener: listening.New(l, nil)}, nil
}

// URL returns the address to which the browser returns.
func (b *Callback) URL() string {
	return "http://" + b.listener.Addr().String() + "/callback"
}

// Close closes the listener and ends the wait.
func (b *Callback) Close() {
	if b.server != nil {
		_ = b.server.Close()
	}
	_ = b.listener.Close()
}

// Await waits for the one answer with the state of this login. It refuses all
// other requests and goes on waiting, because any page can send a browser here.
func (b *Callback) Await(ctx context.Context, state string, wait time.Duration) (url.Values, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answers := make(chan url.Values, 1)
	b.server = &http.Server{
		Handler: b.newHandler(state, answers), ReadTimeout: listening.HeaderTimeout, WriteTimeout: listening.HeaderTimeout, MaxHeaderBytes: listening.MaxHeaderBytes,
	}
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(b.listener) }()
	select {
	case a := <-answers:
		// Let the browser finish reading its page.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = b.server.Shutdown(stop)
		return a, nil
	case err := <-served:
		return nil, err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("no consent within %s", wait)
		}
		return nil, ctx.Err()
	}
}

// newHandler accepts the first answer with the state of this login.
func (b *Callback) newHandler(state string, answers chan<- url.Values) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for key, value := range map[string]string{
			"Cache-Control": "no-store", "Content-Type": "text/plain; charset=utf-8", "Referrer-Policy": "no-referrer",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "X-Content-Type-Options": "nosniff",
		} {
			w.Header().Set(key, value)
		}
		q, err := url.ParseQuery(r.URL.RawQuery)
		switch {
		case r.Host != b.listener.Addr().String():
			http.Error(w, "The Host header names another server.", http.StatusForbidden)
		case r.URL.Path != "/callback":
			http.Error(w, "There is nothing here.", http.StatusNotFound)
		case r.Method != http.MethodGet:
			http.Error(w, "The method is not allowed here.", http.StatusMethodNotAllowed)
		case err != nil || len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1:
			http.Error(w, "This answer does not belong to this login. The login still waits.", http.StatusBadRequest)
		default:
			select {
			case answers <- q:
				_, _ = fmt.Fprintln(w, "Thank you. The terminal shows the result. You can close this page.")
			default:
				http.Error(w, "The answer was given already.", http.StatusGone)
			}
		}
	})
}
