package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
	"github.com/sallyport/sallyport/internal/tracing"
)

// maxMessage bounds one message of a server, in bytes. It has room for a result
// of the size that the gate would cut anyway, and for images beside it.
const maxMessage = 16 << 20

// reconnects bounds how often an answer that a remote server broke off is
// resumed without any progress.
const reconnects = 3

// maxParts bounds the number of parts of a broken answer that do make progress.
const maxParts = 100

// spawnProcess starts the process of a server under the grant of the call.
func (l *connLink) spawnProcess(ctx context.Context, c *sallyport.Call) (mcp.Transport, error) {
	in := newStdinWriter()
	answers, out := io.Pipe()
	child, err := c.Process.Start(ctx, l.s.Command[0], l.s.Command[1:], &sallyport.SpawnOptions{
		Dir: l.s.Dir, Env: l.s.Env, Secrets: l.s.Secrets,
		Input: in, Output: out, ErrorOutput: &l.stderr, Shared: l.s.Shared,
		Check: func(file string) error { return l.s.m.o.Start(l.s.Name, file) },
	})
	if err != nil {
		return nil, err
	}
	l.child, l.born = child, time.Now()
	go func() {
		// The output of the server ends with its process.
		<-child.Done()
		_ = out.Close()
		l.logLost(child)
	}()
	return newPipe(l, in, answers), nil
}

// maxLost bounds the paths of one process that the log names.
const maxLost = 8

// logLost tells the operator what a process that has ended wrote outside of its grant,
// beside a granted file that did not exist: no record of a call has it.
func (l *connLink) logLost(child sallyport.Child) {
	res, _ := child.Wait() // the reason of the end is told elsewhere
	lost := 0
	for i := range res.Changes {
		if c := &res.Changes[i]; c.NotGranted && lost < maxLost {
			lost++
			l.s.m.o.Logger.Warn("what an MCP server wrote is lost", "server", l.s.Name, "path", l.s.redactText(c.Path), "why", c.Why)
		}
	}
}

// remoteTransport returns the transport to a server that is reached over HTTP. A
// connection with server-sent events depends on one request for its whole life,
// and that request belongs to the call that makes it. So such a connection ends
// with its call.
func (l *connLink) remoteTransport() mcp.Transport {
	client := &http.Client{Transport: roundTripper{l}}
	if l.s.Transport == TransportSSE {
		return &mcp.SSEClientTransport{Endpoint: l.s.URL, MaxEventSize: maxMessage, HTTPClient: client}
	}
	return &mcp.StreamableClientTransport{
		Endpoint: l.s.URL, MaxRetries: reconnects, DisableStandaloneSSE: true, MaxEventSize: maxMessage, HTTPClient: client,
	}
}

// usesPosts reports whether each message to the server is an HTTP request with its
// own answer, so that sessions have to be ended by a request.
func (s *mountedServer) usesPosts() bool { return s.URL != "" && s.Transport != TransportSSE }

// versionHeader names the agreed version of the protocol.
const versionHeader = "Mcp-Protocol-Version"

var (
	// errNoCall is a request that no call causes.
	errNoCall = errors.New("upstream: a request outside a call")
	// errForgotten is a request of a session that the server has ended.
	errForgotten = errors.New("upstream: the session is over")
)

// roundTripper sends each request through the accessors of the call that causes
// it, so that it is decided and recorded with that call. It passes on nothing
// of what the caller of the gate sent, but for the id of its trace where calls are
// traced.
type roundTripper struct{ l *connLink }

// RoundTrip sends a request.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.l.forgotten.Load() {
		return nil, errForgotten
	}
	resp, err := t.l.roundTrip(r.Clone(r.Context()))
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		// The library keeps only the text of some errors and drops others.
		t.l.refused.Store(e)
	}
	if err == nil {
		if b, ok := resp.Body.(*boundedBody); ok {
			b.counted = true
		}
	}
	return resp, err
}

// roundTrip adds headers to a request and sends it.
func (l *connLink) roundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	if c == nil {
		return nil, errNoCall
	}
	if err := l.checkOrigin(r.URL); err != nil {
		return nil, err
	}
	if v := l.version.Load(); v != nil && r.Header.Get(versionHeader) == "" {
		// The library sets it only on connections of its own types.
		r.Header.Set(versionHeader, *v)
	}
	for _, h := range l.s.Headers {
		value := h.Value
		if h.Secret != "" {
			secret, err := c.Secrets.Get(r.Context(), h.Secret)
			if err != nil {
				return nil, err
			}
			value += secret.Reveal()
		}
		r.Header.Set(h.Name, value)
	}
	if trace := tracing.OutgoingParent(r.Context()); trace != "" {
		r.Header.Set(tracing.HeaderParent, trace)
	}
	resp, err := l.sendTo(r, c)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err := l.boundBody(resp, callMessagesOf(r.Context()), kind == "text/event-stream"); err != nil {
		return nil, err
	}
	return resp, nil
}

// sendTo sends a request, with a token where the server wants one.
func (l *connLink) sendTo(r *http.Request, c *sallyport.Call) (*http.Response, error) {
	if a := l.s.authority; a != nil {
		return a.Do(r, c, l.s.Holder(c.Principal.Name))
	}
	return oauth.AtHome(c.Network.Client(), l.s.Name, l.s.URL).Do(r)
}

// checkOrigin refuses any address other than the declared one. A server may name
// another address for later requests, but secrets are for the address that the
// operator wrote.
func (l *connLink) checkOrigin(to *url.URL) error {
	at, err := url.Parse(l.s.URL)
	if err != nil || at.Scheme != to.Scheme || at.Host != to.Host {
		return &sallyport.Error{
			Code: sallyport.CodeHostNotAllowed, Resource: to.Host,
			Detail: quoteName(to.Host) + " is not where the MCP server " + l.s.Name + " was declared",
		}
	}
	return nil
}

// storeVersion remembers which version of the protocol a server chose.
func (l *connLink) storeVersion(greeting json.RawMessage) {
	var r struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(greeting, &r) == nil && r.Version != "" {
		l.version.Store(&r.Version)
	}
}

// hostOf returns the host of a URL, with its port when it names one.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}
