package command

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/serving"
	"github.com/sallyport/sallyport/internal/listening"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
)

// loginCallback waits on the loopback interface for the browser that returns from an
// issuer.
type loginCallback struct {
	listener net.Listener
	server   *http.Server
}

// listenBack listens on the loopback interface only. Port 0 selects a free
// port.
func listenBack(ctx context.Context, port int) (*loginCallback, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("--port: %w", err)
	}
	return &loginCallback{listener: listening.New(l, nil)}, nil
}

// callbackURL returns the address to which the browser returns.
func (b *loginCallback) callbackURL() string {
	return "http://" + b.listener.Addr().String() + "/callback"
}

// close closes the listener and ends the wait.
func (b *loginCallback) close() {
	if b.server != nil {
		_ = b.server.Close()
	}
	_ = b.listener.Close()
}

// awaitAnswer waits for the one answer with the state of this login. It refuses all
// other requests and goes on waiting, because any page can send a browser here.
func (b *loginCallback) awaitAnswer(ctx context.Context, state string, wait time.Duration) (url.Values, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	answers := make(chan url.Values, 1)
	b.server = &http.Server{
		Handler: b.newHandler(state, answers), ReadTimeout: serving.HeaderTimeout, WriteTimeout: serving.HeaderTimeout, MaxHeaderBytes: serving.MaxHeaderBytes,
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
func (b *loginCallback) newHandler(state string, answers chan<- url.Values) http.Handler {
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

// consentTo prints the page to open and what it is for.
func consentTo(p *report.Printer, s *upstream.Server, principal string, what oauth.Consent, redirect string) error {
	if p.JSON {
		return p.PrintJSON(map[string]any{
			"server": s.Name, "principal": s.Holder(principal), "url": what.URL, "host": what.Host, "issuer": what.Issuer,
			"scopes": orEmpty(what.Scopes), "redirect": redirect, "wait_seconds": int(loginWait.Seconds()),
		})
	}
	p.PrintLine("Open this page of %s to let %s use the MCP server %s:", text.PrintableLine(what.Host), app.HolderName(s, principal), s.Name)
	p.PrintLine("")
	p.PrintLine("  %s", what.URL)
	p.PrintLine("")
	if len(what.Scopes) > 0 {
		p.PrintLine("scopes   %s", strings.Join(what.Scopes, " "))
	}
	p.PrintLine("issuer   %s", text.PrintableLine(what.Issuer))
	p.PrintLine("waiting  at %s, for %s", redirect, loginWait)
	return nil
}

// reportLogin prints the result of a login.
func reportLogin(p *report.Printer, s *upstream.Server, principal string, status *oauth.Status) error {
	if p.JSON {
		out := map[string]any{
			"server": s.Name, "principal": s.Holder(principal), "logged_in": true, "issuer": status.Issuer,
			"scopes": orEmpty(status.Scopes), "renews": status.Renews,
		}
		if !status.Expires.IsZero() {
			out["expires"] = status.Expires.UTC().Format(time.RFC3339)
		}
		return p.PrintJSON(out)
	}
	until := ""
	switch {
	case status.Renews:
		until = ", until its issuer refuses to renew the token"
	case !status.Expires.IsZero():
		until = " until " + formatExpiry(status.Expires)
	}
	p.PrintLine("logged in: %s may use %s%s", app.HolderName(s, principal), s.Name, until)
	p.PrintLine("a running serve asks the server within seconds")
	return nil
}

// argsOf returns the arguments of a login.
func argsOf(principal string) json.RawMessage {
	// Marshalling a map of strings cannot fail.
	text, _ := json.Marshal(map[string]string{"principal": principal})
	return text
}
