package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// connectTimeout bounds lookup and connection together; a peer that
	// needs longer than this for a handshake is down.
	connectTimeout = 30 * time.Second
	// attemptDelay is how long one address may try before the next one is
	// started beside it (RFC 8305, section 5, recommends 250 ms).
	attemptDelay = 250 * time.Millisecond
	// maxAttempts bounds how many addresses of one answer are tried. All of
	// them are judged.
	maxAttempts = 8
)

// DialOptions say how names are resolved and addresses dialled. The zero
// value uses the system for both.
type DialOptions struct {
	// Resolve looks up the addresses of a canonical host; nil means the
	// system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to exactly the address that it is given; nil means the
	// system's dialer.
	Dial func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
	// RefuseAddress says what an address is that is refused whatever the policy
	// says, and the cause, which is not shown to the caller; nil refuses none. It
	// is that of [sallyport.NetworkBackend].
	RefuseAddress func(addr netip.AddrPort) (what string, cause error)
	// Denied remembers the addresses of denied names; nil means a memory of
	// this dialer's own.
	Denied *DeniedNames
}

// policyDialer opens connections to hosts that a policy lets through. It is safe
// for concurrent use.
type policyDialer struct {
	policy  *Policy
	denied  *DeniedNames
	refuse  func(addr netip.AddrPort) (what string, cause error)
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	dial    func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
}

// newPolicyDialer returns a dialer for a policy; nil options mean the zero value.
func newPolicyDialer(p *Policy, o *DialOptions) *policyDialer {
	d := &policyDialer{policy: p, resolve: systemResolve}
	system := &net.Dialer{Timeout: connectTimeout, ControlContext: d.checkSocket}
	d.dial = func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
		return system.DialContext(ctx, network, addr.String())
	}
	if o != nil && o.Resolve != nil {
		d.resolve = o.Resolve
	}
	if o != nil && o.Dial != nil {
		d.dial = o.Dial
	}
	if o != nil {
		d.refuse = o.RefuseAddress
	}
	if o != nil && o.Denied != nil {
		d.denied = o.Denied
	} else {
		d.denied = NewDeniedNames(o, nil)
	}
	return d
}

// systemResolve asks the system. Go hands some IPv4 addresses over in their
// 16-byte form, which is its own affair and no IPv4-mapped answer: what would
// be dialled is the IPv4 address.
func systemResolve(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

// checkSocket runs on the socket that is about to be connected. It repeats the
// floor on what the kernel will really be given, so that no path through this
// package or the standard library can connect elsewhere.
func (d *policyDialer) checkSocket(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return sallyport.HostError("the address", "is "+whatInvalid)
	}
	over := d.policy.over.Load()
	lifted := d.policy.liftOf(ap.Addr(), ap.Port())
	if over != nil {
		lifted = min(lifted, over.liftOf(ap.Addr(), ap.Port()))
	}
	if what := judgeAddress(ap.Addr(), lifted); what != "" {
		return sallyport.HostError(ap.Addr().String(), "is "+what)
	}
	return d.refuseReserved(ap.Addr().String(), ap.Port(), []netip.Addr{ap.Addr()})
}

// refuseReserved refuses a host for an address that no grant opens.
func (d *policyDialer) refuseReserved(host string, port uint16, addrs []netip.Addr) error {
	if d.refuse == nil {
		return nil
	}
	for _, a := range addrs {
		what, cause := d.refuse(netip.AddrPortFrom(a, port))
		if what == "" {
			continue
		}
		verb := "resolves to "
		if host == a.String() {
			verb = "is "
		}
		err := sallyport.HostError(host, verb+what)
		err.Err = cause
		return err
	}
	return nil
}

// Dial decides about a canonical host, resolves it once, judges every answer
// and connects to one of the judged addresses. The network is tcp, tcp4 or
// tcp6. Errors match sallyport.ErrHostNotAllowed when the policy refuses; a
// failed lookup or connection is execution_failed.
func (d *policyDialer) Dial(ctx context.Context, network, host string, port uint16) (net.Conn, error) {
	if err := d.policy.Decide(host, port); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addrs, err := d.lookupAddresses(ctx, host, port)
	if err == nil {
		err = d.refuseReserved(host, port, addrs)
	}
	if err == nil {
		err = d.refuseDenied(ctx, host, port, addrs)
	}
	if err != nil {
		return nil, err
	}
	targets, err := selectAddresses(network, addrs, port)
	if err != nil {
		return nil, newDialError(host, "has no address for "+network, err)
	}
	conn, err := d.connectFirst(ctx, network, targets)
	if err != nil {
		return nil, dialError(targetText(host, port), err)
	}
	return d.policy.trackConnection(conn, host, port, addrs)
}

// lookupAddresses returns the checked addresses of a host that was decided
// about.
func (d *policyDialer) lookupAddresses(ctx context.Context, host string, port uint16) ([]netip.Addr, error) {
	if a, ok := parseLiteral(host); ok {
		// Decide has asked the floor about a literal.
		return []netip.Addr{a}, nil
	}
	addrs, err := d.resolve(ctx, host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("the answer is empty")
	}
	if err != nil {
		// The resolver's own text names servers of this network.
		return nil, newDialError(host, "could not be resolved", err)
	}
	return addrs, d.policy.CheckAddresses(host, port, addrs)
}

// selectAddresses returns the addresses of the wanted family, bounded in number.
func selectAddresses(network string, addrs []netip.Addr, port uint16) ([]netip.AddrPort, error) {
	out := make([]netip.AddrPort, 0, min(len(addrs), maxAttempts))
	for _, a := range addrs {
		wanted := network == "tcp" || network == "tcp4" && a.Is4() || network == "tcp6" && a.Is6()
		if wanted && len(out) < maxAttempts && !slices.Contains(out, netip.AddrPortFrom(a, port)) {
			out = append(out, netip.AddrPortFrom(a, port))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("none of %d addresses", len(addrs))
	}
	return out, nil
}

// connectFirst tries the addresses in order, the next one as soon as one fails or
// takes longer than attemptDelay. The first connection wins, later ones are
// closed.
func (d *policyDialer) connectFirst(ctx context.Context, network string, addrs []netip.AddrPort) (net.Conn, error) {
	if len(addrs) == 1 {
		return d.dial(ctx, network, addrs[0])
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &dialRace{dialer: d, network: network, left: addrs, results: make(chan dialOutcome)}
	// Those that lose are cancelled and then waited for.
	defer r.closeLate()
	defer cancel()
	timer := time.NewTimer(attemptDelay)
	defer timer.Stop()
	var first error // that of the preferred address
	for r.startNext(ctx); ; {
		select {
		case a := <-r.results:
			r.running--
			if a.err == nil {
				return a.conn, nil
			}
			if first == nil {
				first = a.err
			}
			if r.running > 0 {
				continue
			}
			if len(r.left) == 0 {
				return nil, first
			}
			r.startNext(ctx)
		case <-timer.C:
			r.startNext(ctx)
			timer.Reset(attemptDelay)
		}
	}
}

type dialOutcome struct {
	conn net.Conn
	err  error
}

type dialRace struct {
	dialer  *policyDialer
	network string
	left    []netip.AddrPort
	running int
	results chan dialOutcome
}

// startNext dials the next address, if there is one.
func (r *dialRace) startNext(ctx context.Context) {
	if len(r.left) == 0 {
		return
	}
	addr := r.left[0]
	r.left = r.left[1:]
	r.running++
	go func() {
		conn, err := r.dialer.dial(ctx, r.network, addr)
		r.results <- dialOutcome{conn, err}
	}()
}

// closeLate waits for what still runs and closes what connected too late.
func (r *dialRace) closeLate() {
	for ; r.running > 0; r.running-- {
		if a := <-r.results; a.conn != nil {
			a.conn.Close()
		}
	}
}

// dialError keeps refusals and cancellation and hides addresses: the text of
// a net.OpError names those of both ends.
func dialError(host string, err error) error {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return e
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return newDialError(host, "could not be reached: "+errno.Error(), err)
	}
	return newDialError(host, "could not be reached", err)
}

// newDialError returns the error of what went wrong without anyone having
// refused it.
func newDialError(host, what string, cause error) *sallyport.Error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: host, Operation: "dial",
		Detail: host + " " + what, Err: cause,
	}
}
