package egress

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
)

// roundTrip checks one request, sends it and bounds the answer. It returns
// the target also when it fails, as far as it was understood. The span may be nil.
func (c *Client) roundTrip(req *http.Request, span *tracing.Span) (resp *http.Response, where string, err error) {
	to, h, err := c.checkRequest(req)
	if to.host != "" {
		where = observedText(to.host, to.port, err)
	}
	if err != nil {
		closeBody(req)
		return nil, where, err
	}
	nameTarget(span, req)
	ctx, cancel := context.WithDeadline(req.Context(), c.exchangeDeadline(h))
	resp, err = c.transport.RoundTrip(newOutgoing(ctx, req, to, h))
	if err != nil {
		err = c.explainError(ctx, req, where, err)
		cancel()
		return nil, where, err
	}
	if err := checkResponse(resp); err != nil {
		resp.Body.Close()
		cancel()
		return nil, where, err
	}
	if resp.Body == http.NoBody {
		cancel()
	} else {
		resp.Body = &boundedBody{
			rc: resp.Body, ctx: ctx, parent: req.Context(), cancel: cancel,
			client: c, host: where, left: c.maxBytes,
		}
	}
	return resp, where, nil
}

// checkRequest checks a request against the policy. Nothing has been sent.
func (c *Client) checkRequest(req *http.Request) (origin, requestHistory, error) {
	to, err := originOf(req.URL)
	if err != nil {
		return origin{}, requestHistory{}, err
	}
	if err := c.policy.Decide(to.host, to.port); err != nil {
		return to, requestHistory{}, err
	}
	if err := c.policy.checkMethod(req.Method, to); err != nil {
		return to, requestHistory{}, err
	}
	if err := c.checkHeader(req, to); err != nil {
		return to, requestHistory{}, err
	}
	h, err := historyOf(req, to)
	return to, h, err
}

// checkMethod refuses methods that are not fetches: CONNECT opens a tunnel,
// TRACE and TRACK echo credentials. net/http refuses what is no token.
func (p *Policy) checkMethod(method string, to origin) error {
	for _, m := range [...]string{http.MethodConnect, http.MethodTrace, "TRACK"} {
		if strings.EqualFold(method, m) {
			return sallyport.HostError(targetText(to.host, to.port), "may not be asked to "+m)
		}
	}
	if !p.readOnly || method == "" || method == http.MethodGet || method == http.MethodHead {
		return nil
	}
	return sallyport.HostError(targetText(to.host, to.port), whyReadOnly+"the method is neither GET nor HEAD")
}

// requestHistory is what the requests before this hop say about it.
type requestHistory struct {
	hops int
	// crossed is true when any hop so far went to another origin.
	crossed bool
	// deadline is that of the first request; zero for a first request.
	deadline time.Time
}

// historyOf follows the chain that net/http leaves in a request which answers
// a redirect. It lies in the transport and not in CheckRedirect, because any
// SDK may replace the latter.
func historyOf(req *http.Request, to origin) (requestHistory, error) {
	var h requestHistory
	next := to
	for r := req; r.Response != nil && r.Response.Request != nil; {
		prev := r.Response.Request
		from, err := originOf(prev.URL)
		if err != nil {
			return h, err
		}
		if h.hops++; h.hops > maxRedirects {
			return h, newDialError(targetText(to.host, to.port), fmt.Sprintf("redirects more than %d times", maxRedirects), nil)
		}
		if h.hops == 1 {
			h.deadline, _ = prev.Context().Deadline()
			if from.scheme == "https" && to.scheme == "http" && hasBody(req) {
				return h, sallyport.HostError(targetText(to.host, to.port), "would receive the request's body without encryption")
			}
		}
		h.crossed = h.crossed || from != next
		r, next = prev, from
	}
	return h, nil
}

func hasBody(req *http.Request) bool { return req.Body != nil && req.Body != http.NoBody }

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

func (c *Client) exchangeDeadline(h requestHistory) time.Time {
	d := time.Now().Add(c.timeout)
	if !h.deadline.IsZero() && h.deadline.Before(d) {
		return h.deadline
	}
	return d
}

// newOutgoing returns the request as it is sent: to the canonical host, with the
// Host header that belongs to it, and on a redirect without what must not
// travel.
func newOutgoing(ctx context.Context, req *http.Request, to origin, h requestHistory) *http.Request {
	out := req.WithContext(ctx)
	out.Host = ""
	if host := to.urlHost(req.URL); host != req.URL.Host {
		u := *req.URL
		u.Host = host
		out.URL = &u
	}
	out.Header = sentHeader(req.Header, h)
	return out
}

// checkResponse refuses a redirect whose Location would have to be guessed.
func checkResponse(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil
	}
	if err := checkText(location); err != nil {
		return err
	}
	u, err := url.Parse(location)
	if err != nil {
		return urlError("", "of a redirect cannot be read")
	}
	_, err = originOf(resp.Request.URL.ResolveReference(u))
	return err
}

// explainError turns an error of the transport into one that says what happened.
func (c *Client) explainError(ctx context.Context, req *http.Request, where string, err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	if c.timedOut(ctx, req.Context()) {
		return &timeoutError{host: where, after: c.timeout}
	}
	return err
}

// timedOut reports whether the client's own bound, not the caller's context,
// ended an exchange.
func (c *Client) timedOut(ctx, parent context.Context) bool {
	return errors.Is(ctx.Err(), context.DeadlineExceeded) && parent.Err() == nil
}
