package scoped

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/reach"
)

// maxNotes bounds how many decisions of either kind one call adds to its trail,
// so that a tool that asks for a forbidden host in a loop does not fill the
// memory or the record. What is refused stays refused.
const maxNotes = 256

// networkReach is the network part of a grant: its policy and its connections,
// shared by all calls under the grant. The client is made for the first call:
// of a hundred thousand registered tools most are never called. It is safe
// for concurrent use.
type networkReach struct {
	grant   sallyport.NetworkGrant
	backend *sallyport.NetworkBackend

	once   sync.Once
	client *egress.Client
}

// newNetworkReach compiles a grant with the backend that carries it. Without a
// backend nothing is granted. It fails when either is not well formed.
func newNetworkReach(g sallyport.NetworkGrant, b *sallyport.NetworkBackend) (*networkReach, error) {
	if b == nil {
		g.Allow, b = nil, &sallyport.NetworkBackend{}
	}
	if _, err := egress.NewPolicy(g); err != nil {
		return nil, err
	}
	if b.MaxResponseBytes < 0 || b.Timeout < 0 {
		return nil, errors.New("network backend: a bound is negative")
	}
	return &networkReach{grant: g, backend: b}, nil
}

// openClient creates the client once. When that fails, which newNetworkReach
// has ruled out, the client is nil and its bindings refuse.
func (n *networkReach) openClient() *egress.Client {
	n.once.Do(func() {
		n.client, _ = egress.New(n.grant, &egress.Options{
			DialOptions:      egress.DialOptions{Resolve: n.backend.Resolve, Dial: n.backend.Dial, RefuseAddress: n.backend.RefuseAddress},
			MaxResponseBytes: n.backend.MaxResponseBytes,
			Timeout:          n.backend.Timeout,
			RootCAs:          n.backend.RootCAs,
		})
	})
	return n.client
}

// closeClient closes idle connections. A network that was never used refuses from
// then on.
func (n *networkReach) closeClient() {
	n.once.Do(func() {})
	if n.client != nil {
		n.client.Close()
	}
}

// bindCall returns the accessor for one call. Each refusal is noted, and each
// target that was let pass once; note is never called by two goroutines at
// once and may be nil.
func (n *networkReach) bindCall(ctx context.Context, note func(sallyport.Decision)) sallyport.Network {
	a := &boundNetwork{note: note}
	a.Binding = n.openClient().Bind(a).During(ctx)
	return a
}

// boundNetwork is the accessor of one call: the binding, whose Client and
// DialContext it has, and its observer in one allocation.
type boundNetwork struct {
	egress.Binding
	note func(sallyport.Decision)

	mu      sync.Mutex
	passed  []string
	refused int
}

var _ sallyport.Network = (*boundNetwork)(nil)

func (a *boundNetwork) Observe(target string, refusal *sallyport.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if refusal != nil {
		if a.refused < maxNotes {
			a.refused++
			sendDecision(a.note, newHostRefusal(target, refusal))
		}
		return
	}
	if len(a.passed) >= maxNotes || slices.Contains(a.passed, target) {
		return
	}
	a.passed = append(a.passed, target)
	sendDecision(a.note, sallyport.Decision{
		Step: sallyport.StepAccess, Allowed: true, Capability: group.Network, Resource: target, Why: "dial " + target,
	})
}

// newHostRefusal describes a refusal for the operator, who may see the address
// that the caller may not.
func newHostRefusal(target string, e *sallyport.Error) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepAccess, Capability: group.Network, Resource: target, Why: e.Error()}
	if e.Err != nil {
		d.Why += " (" + e.Err.Error() + ")"
	}
	if !OutsideGrant(e) {
		d.Source = reach.FloorSource
	}
	return d
}

// OutsideGrant reports whether a refused host is merely not granted, so that a
// wider grant would let it pass, and not on a deny list or a floor.
func OutsideGrant(e *sallyport.Error) bool {
	return e.Code == sallyport.CodeHostNotAllowed && strings.HasSuffix(e.Detail, " "+notDeclared)
}

// notDeclared is the detail of a host outside the grant, after its name.
var notDeclared = strings.TrimPrefix(sallyport.HostError("x", "").Detail, "x ")

func (n refusedNetwork) Probe(_, rawURL string) error {
	u, err := egress.ParseURL(rawURL)
	if err != nil {
		return err
	}
	return n.refuseHost(u.Hostname(), portOf(u))
}

// portOf returns the port to which a request goes.
func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case strings.EqualFold(u.Scheme, "http"):
		return "80"
	default:
		return "443"
	}
}

// The refusing accessors are one pointer wide, so that an interface holds them
// without an allocation: a tool that touches nothing pays nothing.

type refusedNetwork struct{ note func(sallyport.Decision) }

// Client returns a client that refuses every host. It is a fresh one each
// time: a tool may set fields of its client, and a shared one would carry them
// into other calls.
func (n refusedNetwork) Client() *http.Client {
	return &http.Client{Transport: refusedTransport(n)}
}

func (n refusedNetwork) DialContext(_ context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	return nil, n.refuseHost(host, port)
}

// refuseHost refuses a host. The operator sees the port, where the host alone does
// not say what to grant: an address is granted with its port.
func (n refusedNetwork) refuseHost(host, port string) error {
	if canonical, err := reach.CanonicalHost(host); err == nil {
		host = canonical
	}
	target := host
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if usual := port == "" || port == "80" || port == "443"; port != "" && (!usual || err == nil || host == "localhost") {
		target = net.JoinHostPort(strings.Trim(host, "[]"), port)
	}
	sendDecision(n.note, newRefusal(group.Network, target))
	return sallyport.HostError(host, "")
}

type refusedTransport refusedNetwork

// RoundTrip refuses the host of the request. It closes the body, as every
// http.RoundTripper has to.
func (t refusedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, refusedNetwork(t).refuseHost(r.URL.Hostname(), portOf(r.URL))
}

func (a *boundNetwork) Probe(_, rawURL string) error { return a.Binding.Probe(rawURL) }
