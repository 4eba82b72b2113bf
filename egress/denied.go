package egress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// deniedAge is how long an answer about a denied name is used.
	deniedAge = 30 * time.Second
	// deniedMemory is how long an address counts after it was last among the
	// answers: those of a name that has many take turns.
	deniedMemory = 10 * time.Minute
	// deniedWait bounds how long a dial waits for these lookups.
	deniedWait = 3 * time.Second
	// maxDeniedNames and maxDeniedAddrs bound what is remembered. A deny list is
	// written by hand.
	maxDeniedNames = 512
	maxDeniedAddrs = 256
)

// DeniedNames remembers the addresses of names on deny lists, so that a denied
// host is not reached by its address or by another name for it. One may serve
// any number of dialers. It is safe for concurrent use.
//
// A name whose addresses cannot be found out is refused by name alone, which is
// logged: an unknown address must not end all traffic.
type DeniedNames struct {
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	logger  *slog.Logger
	now     func() time.Time

	mu    sync.Mutex
	names map[string]*deniedName
}

// deniedName is what is known of one name. The lock is held for a lookup, so
// that dials at the same time share it.
type deniedName struct {
	mu     sync.Mutex
	looked time.Time
	failed bool
	seen   map[netip.Addr]time.Time
}

// NewDeniedNames returns an empty memory. The functions of the options are those
// of the dialers that it serves; a nil logger drops what it is told.
func NewDeniedNames(o *DialOptions, logger *slog.Logger) *DeniedNames {
	d := &DeniedNames{resolve: systemResolve, logger: logger, now: time.Now, names: map[string]*deniedName{}}
	if o != nil && o.Resolve != nil {
		d.resolve = o.Resolve
	}
	if logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	return d
}

// findOwner returns the name among those given that has one of the addresses, and
// the address; the name is empty when none has.
func (d *DeniedNames) findOwner(ctx context.Context, names []string, addrs []netip.Addr) (name string, addr netip.Addr) {
	ctx, cancel := context.WithTimeout(ctx, deniedWait)
	defer cancel()
	found := make([]netip.Addr, len(names))
	var group sync.WaitGroup
	for i, n := range names {
		group.Go(func() { found[i] = d.findAddress(ctx, n, addrs) })
	}
	group.Wait()
	for i, a := range found {
		if a.IsValid() {
			return names[i], a
		}
	}
	return "", addr
}

// findAddress returns the first of the addresses that a name has or had lately.
func (d *DeniedNames) findAddress(ctx context.Context, name string, addrs []netip.Addr) netip.Addr {
	n := d.entryFor(name)
	if n == nil {
		return netip.Addr{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := d.now(); n.looked.IsZero() || now.Sub(n.looked) >= deniedAge {
		d.refreshAddresses(ctx, name, n, now)
	}
	for _, a := range addrs {
		if _, ok := n.seen[a.Unmap()]; ok {
			return a
		}
	}
	return netip.Addr{}
}

// entryFor returns the memory of a name, nil when there are too many.
func (d *DeniedNames) entryFor(name string) *deniedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.names[name]
	if n == nil && len(d.names) < maxDeniedNames {
		n = &deniedName{seen: map[netip.Addr]time.Time{}}
		d.names[name] = n
	} else if n == nil {
		d.logger.Warn("egress: too many denied names; this one is refused by name alone", "host", name)
	}
	return n
}

// refreshAddresses asks for the addresses of a name. A name that does not exist has none.
func (d *DeniedNames) refreshAddresses(ctx context.Context, name string, n *deniedName, now time.Time) {
	addrs, err := d.resolve(ctx, name)
	if ctx.Err() == nil || err == nil {
		n.looked = now
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	failed := err != nil && !(ok && dns.IsNotFound)
	if failed && !n.failed {
		d.logger.Warn("egress: the addresses of a denied host are not known; it is refused by name alone until they are", "host", name, "error", err)
	}
	n.failed = failed
	for a, at := range n.seen {
		if now.Sub(at) > deniedMemory {
			delete(n.seen, a)
		}
	}
	for _, a := range addrs {
		a = a.Unmap()
		if _, known := n.seen[a]; known || len(n.seen) < maxDeniedAddrs {
			n.seen[a] = now
		}
	}
}

// refuseDenied refuses addresses that a denied name has. A host that the grant
// lists by itself is let pass: the operator named it, and hosts of one provider
// share addresses.
func (d *policyDialer) refuseDenied(ctx context.Context, host string, port uint16, addrs []netip.Addr) error {
	names := d.policy.deniedNames(host, port)
	if len(names) == 0 {
		return nil
	}
	name, addr := d.denied.findOwner(ctx, names, addrs)
	if name == "" {
		return nil
	}
	err := sallyport.HostError(host, "has an address of a host that "+whyDenied)
	err.Err = reach.DescribeDenied(host, addr, name)
	return err
}

// deniedNames returns the names whose addresses are denied to a host.
func (p *Policy) deniedNames(host string, port uint16) []string {
	names := p.hostRules.deniedNames(host, port)
	if over := p.over.Load(); over != nil {
		for _, n := range over.deniedNames(host, port) {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

func (p *hostRules) deniedNames(host string, port uint16) []string {
	if p.allow.Lists(host, port) {
		return nil
	}
	return p.deny.Names(port)
}
