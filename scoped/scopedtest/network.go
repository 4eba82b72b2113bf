package scopedtest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// imitatedNetwork imitates the network accessor: it obeys the declared hosts and asks
// handlers instead of hosts.
type imitatedNetwork struct {
	record *Record
	o      *Options
	allow  *reach.Hosts
}

func newImitatedNetwork(r *Record, o *Options) (*imitatedNetwork, error) {
	n := &imitatedNetwork{record: r, o: o}
	if o.Capabilities.Network == nil {
		return n, nil
	}
	patterns, err := reach.ParseHosts(o.Capabilities.Network.AllowedHosts)
	if err != nil {
		return nil, err
	}
	n.allow = reach.NewHosts(patterns)
	return n, nil
}

// Client returns a client whose requests the handlers answer, over http and
// https alike. It follows redirects as any client does, each to a granted host
// only.
func (n *imitatedNetwork) Client() *http.Client { return &http.Client{Transport: n} }

func (n *imitatedNetwork) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	host, port, err := n.parseTarget(req.URL.Host, req.URL.Scheme)
	if err != nil {
		return nil, err
	}
	if err := n.checkHost(host, port); err != nil {
		return nil, err
	}
	handler := n.o.Hosts[net.JoinHostPort(host, strconv.Itoa(int(port)))]
	if handler == nil {
		handler = n.o.Hosts[host]
	}
	if handler == nil {
		return nil, fmt.Errorf("lookup %s: no such host", host)
	}
	seen := req.Clone(req.Context())
	if seen.Body == nil {
		seen.Body = http.NoBody
	}
	seen.RequestURI, seen.Host = req.URL.RequestURI(), req.URL.Host
	n.record.runLocked(func() { n.record.requests = append(n.record.requests, seen) })
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, seen)
	res := w.Result()
	res.Request = req
	if req.Method == http.MethodHead {
		res.Body = io.NopCloser(http.NoBody)
	}
	return res, req.Context().Err()
}

func (n *imitatedNetwork) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := n.parseTarget(address, "")
	if err != nil {
		return nil, err
	}
	if err := n.checkHost(host, port); err != nil {
		return nil, err
	}
	if n.o.Dial == nil {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return n.o.Dial(address)
}

// parseTarget returns the canonical host and the port; a text that is no host is
// refused as one.
func (n *imitatedNetwork) parseTarget(address, scheme string) (string, uint16, error) {
	host, port, err := reach.SplitHostPort(address)
	switch {
	case err != nil:
		return "", 0, n.record.recordTouch("network", address, sallyport.HostError(address, ""))
	case port != 0:
	case scheme == "http":
		port = 80
	default:
		port = 443
	}
	return host, port, nil
}

func (n *imitatedNetwork) checkHost(host string, port uint16) error {
	item := hostItem(host, port)
	if n.allow == nil || !n.allow.Match(host, port) {
		return n.record.recordTouch("network", item, sallyport.HostError(host, ""))
	}
	return n.record.recordTouch("network", item, nil)
}
