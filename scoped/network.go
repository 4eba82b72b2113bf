package scoped

import (
	"slices"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

// maxNotes bounds how many decisions one call adds to its trail, so that a
// tool that asks for a forbidden host in a loop does not fill the memory or
// the record. What is refused stays refused.
const maxNotes = 256

// network is the network part of a grant: its policy and its connections,
// shared by all calls under the grant. It is safe for concurrent use.
type network struct {
	client *egress.Client
}

// newNetwork compiles a grant. Without a backend nothing is granted. It fails
// when the grant is not well formed.
func newNetwork(g sallyport.NetworkGrant, b *sallyport.NetworkBackend) (*network, error) {
	if b == nil {
		g.Allow, b = nil, &sallyport.NetworkBackend{}
	}
	c, err := egress.New(g, &egress.Options{
		DialOptions:      egress.DialOptions{Resolve: b.Resolve, Dial: b.Dial},
		MaxResponseBytes: b.MaxResponseBytes,
		Timeout:          b.Timeout,
	})
	if err != nil {
		return nil, err
	}
	return &network{client: c}, nil
}

// close closes idle connections.
func (n *network) close() { n.client.Close() }

// bind returns the accessor for one call. Each refusal is noted, and each
// target that was let pass once; note is never called by two goroutines at
// once and may be nil.
func (n *network) bind(note func(sallyport.Decision)) sallyport.Network {
	a := &boundNetwork{note: note}
	if note == nil {
		a.Binding = n.client.Bind(nil)
	} else {
		a.Binding = n.client.Bind(a)
	}
	return a
}

// boundNetwork is the accessor of one call: the binding, whose Client and
// DialContext it has, and its observer in one allocation.
type boundNetwork struct {
	egress.Binding
	note func(sallyport.Decision)

	mu     sync.Mutex
	passed []string
	notes  int
}

var _ sallyport.Network = (*boundNetwork)(nil)

// Observe turns what the client reports into decisions.
func (a *boundNetwork) Observe(target string, refusal *sallyport.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.notes >= maxNotes {
		return
	}
	if refusal != nil {
		a.notes++
		a.note(refused(target, refusal))
		return
	}
	if slices.Contains(a.passed, target) {
		return
	}
	a.notes++
	a.passed = append(a.passed, target)
	a.note(sallyport.Decision{
		Step: sallyport.StepAccess, Allowed: true, Capability: capNetwork, Resource: target, Why: "dial " + target,
	})
}

// refused spells a refusal for the operator, who may see the address that
// the caller may not.
func refused(target string, e *sallyport.Error) sallyport.Decision {
	d := sallyport.Decision{Step: sallyport.StepAccess, Capability: capNetwork, Resource: target, Why: e.Error()}
	if e.Err != nil {
		d.Why += " (" + e.Err.Error() + ")"
	}
	if e.Detail != sallyport.HostError(target, "").Detail {
		d.Source = floorSource
	}
	return d
}
