package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
)

// hopByHop lists the fields that concern one connection (RFC 9110, section
// 7.6.1, with the older ones). Connection may name more.
var hopByHop = [...]string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
}

// serveHTTP serves the requests of a connection; t is the tunnel in which they
// come, with its scheme, nil outside of one.
func (p *Proxy) serveHTTP(ctx context.Context, cancel context.CancelFunc, c *childConn, t *tunnel) {
	for {
		h, err := peekHead(c.r)
		if err != nil {
			if e, ok := errors.AsType[errMalformed](err); ok {
				status := http.StatusBadRequest
				if e == errLongHead {
					status = http.StatusRequestHeaderFieldsTooLarge
				}
				c.refuseWith(status, e.Error())
			}
			return
		}
		c.boundReading(0)
		if h.method == http.MethodConnect && t == nil {
			p.serveConnect(ctx, cancel, c, h)
			return
		}
		if !p.forwardRequest(ctx, c, h, t) {
			return
		}
		// The next request may take its time to begin, but not to arrive.
		if _, err := c.r.Peek(1); err != nil {
			return
		}
		c.boundReading(p.headTimeout)
	}
}

// forwardRequest serves one request and reports whether the connection can be used
// for another.
func (p *Proxy) forwardRequest(ctx context.Context, c *childConn, h requestHead, t *tunnel) bool {
	req, err := http.ReadRequest(c.r)
	if err != nil {
		c.refuseWith(http.StatusBadRequest, "the request cannot be read")
		return false
	}
	u, to, bad := requestTarget(req, h, t)
	if bad != nil {
		p.uses.recordMalformed(bad)
		c.refuseWith(http.StatusBadRequest, bad.Error())
		return false
	}
	where := targetText(to.host, to.port)
	if err := p.checkRequest(req, to); err != nil {
		p.uses.recordOutcome(to.host, to.port, err)
		c.refuseWith(explainError(where, err))
		return false
	}
	up := &requestUpload{rc: req.Body, c: c, left: h.body, expect: req.Header.Get("Expect") != ""}
	out := p.newOutbound(ctx, req, u, up)
	s := p.splices.swapFor(to.host, to.port, to.scheme == "https")
	if to.scheme == "http" && p.splices.mentionsStandIn(to, out) {
		p.uses.entryFor(to.host, to.port, true).setReason("the secret is not sent without encryption")
	}
	if err := p.fillRequest(out, to, s); err != nil {
		c.refuseWith(explainError(where, err))
		return false
	}
	resp, err := p.exchangeRequest(out, to, s, t)
	up.markAnswered()
	if err != nil {
		c.shared = c.shared || up.isUnfinished()
		c.refuseWith(explainError(where, err))
		return false
	}
	defer resp.Body.Close()
	again := h.minor == 1 && !req.Close && !up.isUnfinished()
	err = writeReply(c, req, resp, s, again)
	if up.isUnfinished() {
		// The server may still read the body, and the proxy does not wait for it.
		c.shared = true
		if err == nil {
			c.awaitLastRead()
		}
		return false
	}
	return again && err == nil
}

// exchangeRequest exchanges a request for an answer that can be passed on, and records
// the outcome. Requests in a tunnel were counted with the tunnel.
func (p *Proxy) exchangeRequest(out *http.Request, to origin, s *hostSwap, t *tunnel) (*http.Response, error) {
	resp, err := p.transport.RoundTrip(out)
	if err == nil {
		err = checkAnswer(resp, targetText(to.host, to.port), s)
	}
	if t == nil || err != nil {
		p.uses.recordOutcome(to.host, to.port, err)
	}
	return resp, err
}

// fillRequest puts the values into a request. One with a stand-in in another
// place is refused: what a server would make of it cannot be known.
func (p *Proxy) fillRequest(out *http.Request, to origin, s *hostSwap) error {
	if s == nil {
		return nil
	}
	where := targetText(to.host, to.port)
	bad := s.insertValues(out)
	if bad == "" {
		var err error
		if bad, err = s.fillBody(out, where); err != nil {
			return newDialError(where, "was not sent the whole body", err)
		}
	}
	if bad == "" {
		return nil
	}
	err := bad.newRefusal(where)
	p.uses.recordOutcome(to.host, to.port, err)
	return err
}

// requestTarget reads where a request goes. Outside of a tunnel that is its
// absolute target; inside it is the tunnel's host, and the target a path.
func requestTarget(req *http.Request, h requestHead, t *tunnel) (*url.URL, origin, *sallyport.Error) {
	raw := h.target
	switch {
	case strings.Contains(raw, "#"):
		return nil, origin{}, urlError("", "of a request has a fragment")
	case t == nil:
	case !strings.HasPrefix(raw, "/"):
		return nil, origin{}, urlError(t.host, "of a request in a tunnel is not a path")
	case t.namesLoopback(req.Host):
		raw = t.scheme + "://" + net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) + raw
	case !sameHost(req.Host, t.scheme, origin{t.scheme, t.host, t.port}):
		return nil, origin{}, sallyport.HostError(targetText(t.host, t.port), "does not match the Host header")
	default:
		raw = t.scheme + "://" + req.Host + raw
	}
	u, err := ParseURL(raw)
	if err != nil {
		return nil, origin{}, asError(err)
	}
	o, err := originOf(u)
	if err != nil {
		return nil, origin{}, asError(err)
	}
	if t == nil && o.scheme != "http" {
		return nil, origin{}, urlError(o.host, "needs CONNECT")
	}
	u.Host = o.urlHost(u)
	return u, o, nil
}

// asError returns the error that it is, or a refusal without a cause to show.
func asError(err error) *sallyport.Error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	return urlError("", "cannot be read")
}

// checkRequest decides about a request outside of a tunnel, and about what is
// done with it everywhere.
func (p *Proxy) checkRequest(req *http.Request, to origin) error {
	if err := p.policy.Decide(to.host, to.port); err != nil {
		return err
	}
	if p.splices.inHost(to.host) {
		return misplacedAt("in the name of the host").newRefusal(targetText(to.host, to.port))
	}
	if err := p.policy.checkMethod(req.Method, to); err != nil {
		return err
	}
	for name := range req.Header {
		if p.policy.readOnly && overridesMethod(name) {
			return sallyport.HostError(targetText(to.host, to.port), whyReadOnly+whyOverride)
		}
	}
	return nil
}

// newOutbound returns the request as it is sent. Its Host is the target's.
func (p *Proxy) newOutbound(ctx context.Context, req *http.Request, u *url.URL, up *requestUpload) *http.Request {
	out := &http.Request{
		Method: req.Method, URL: u, Header: req.Header, ContentLength: req.ContentLength,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody,
	}
	if up.left {
		out.Body = up
	}
	stripHops(out.Header)
	// The child is answered by the proxy, see requestUpload.
	out.Header.Del("Expect")
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header["User-Agent"] = []string{""} // or net/http adds its own
	}
	return out.WithContext(ctx)
}

func stripHops(h http.Header) {
	for _, v := range h["Connection"] {
		for name := range strings.SplitSeq(v, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		h.Del(name)
	}
}

func checkAnswer(resp *http.Response, where string, s *hostSwap) error {
	reason := ""
	switch {
	case resp.StatusCode < http.StatusOK:
		reason = "changed the protocol without being asked"
	case s != nil && s.isEncoded(resp):
		// The value could come back in it unseen.
		reason = "answered in an encoding that was not asked for"
	case s != nil && s.isPartial(resp):
		reason = "answered with a part of what was asked for"
	default:
		return nil
	}
	resp.Body.Close()
	return newDialError(where, reason, nil)
}

// requestUpload is the body of a request. It tells a child that waits for it to go
// on, once the body is read.
type requestUpload struct {
	rc io.ReadCloser
	c  *childConn

	mu       sync.Mutex
	expect   bool // the child waits for 100 Continue
	left     bool // not read to the end
	answered bool
}

func (u *requestUpload) Read(p []byte) (int, error) {
	u.mu.Lock()
	if u.expect && !u.answered {
		u.expect = false
		io.WriteString(u.c, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	u.mu.Unlock()
	n, err := u.rc.Read(p)
	if err == io.EOF {
		u.mu.Lock()
		u.left = false
		u.mu.Unlock()
	}
	return n, err
}

// Close does not read the rest, as that of net/http would.
func (u *requestUpload) Close() error { return nil }

// markAnswered records that the final answer begins.
func (u *requestUpload) markAnswered() {
	u.mu.Lock()
	u.answered = true
	u.mu.Unlock()
}

// isUnfinished reports whether the child has not sent the whole body.
func (u *requestUpload) isUnfinished() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left
}

// writeReply writes the answer. What was read is passed on at once, for streams of
// events.
func writeReply(c *childConn, req *http.Request, resp *http.Response, s *hostSwap, again bool) error {
	h, body, length := resp.Header, io.Reader(resp.Body), resp.ContentLength
	stripHops(h)
	if s != nil {
		s.scrubHeader(h)
		body, length = s.scrubBody(body), -1
	}
	bare := req.Method == http.MethodHead || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified
	chunked := !bare && length < 0 && req.ProtoAtLeast(1, 1)
	switch {
	case bare && s != nil:
		// It would be that of the value.
		h.Del("Content-Length")
	case bare:
	case length >= 0:
		h.Set("Content-Length", strconv.FormatInt(length, 10))
	default:
		h.Del("Content-Length")
	}
	if chunked {
		h.Set("Transfer-Encoding", "chunked")
	}
	if !again {
		h.Set("Connection", "close")
	}
	w := bufio.NewWriter(c)
	fmt.Fprintf(w, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, http.StatusText(resp.StatusCode))
	h.Write(w)
	io.WriteString(w, "\r\n")
	if bare {
		return w.Flush()
	}
	// An HTTP/1.0 child without a length reads until the connection ends,
	// which it does because only HTTP/1.1 is served again.
	return copyStream(w, body, chunked)
}

// copyStream copies a body and flushes whatever comes.
func copyStream(w *bufio.Writer, body io.Reader, chunked bool) error {
	to := io.WriteCloser(plainWriter{w})
	if chunked {
		to = httputil.NewChunkedWriter(w)
	}
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if flushed := w.Flush(); err == nil {
			err = flushed
		}
		if err != nil {
			return err
		}
	}
	to.Close()
	if chunked {
		io.WriteString(w, "\r\n") // no trailers
	}
	return w.Flush()
}

// plainWriter writes a body of known length: closing it writes nothing.
type plainWriter struct{ io.Writer }

func (plainWriter) Close() error { return nil }
