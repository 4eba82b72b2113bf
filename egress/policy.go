package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	whyDenied   = reach.WhyDenied
	whyReadOnly = "may only be read: "
)

// Policy decides whether a host may be reached and whether its addresses may
// be dialled. It becomes narrower by [Policy.Narrow] and never wider. It is safe
// for concurrent use.
type Policy struct {
	hostRules
	// over is what [Policy.Narrow] set last; nil narrows nothing.
	over atomic.Pointer[hostRules]
	open openConnections
}

// hostRules are those of one grant. They do not change.
type hostRules struct {
	allow, deny  *reach.Hosts
	allowPrivate bool
	// anyAddress lifts more of the floor than allowPrivate.
	anyAddress bool
	// private holds the single private addresses that may be reached.
	private  map[netip.AddrPort]bool
	readOnly bool
	// any lets every host through on every port.
	any bool
	// ports is those of the allow list, sorted.
	ports []uint16
}

// NewPolicy compiles a grant. An entry that is not a host pattern is an
// error: left out of the deny list it would open what it was to close.
func NewPolicy(g sallyport.NetworkGrant) (*Policy, error) {
	r, err := newHostRules(g)
	if err != nil {
		return nil, err
	}
	return &Policy{hostRules: *r}, nil
}

func newHostRules(g sallyport.NetworkGrant) (*hostRules, error) {
	allow, errAllow := reach.ParseHosts(g.Allow)
	deny, errDeny := reach.ParseHosts(g.Deny)
	if err := errors.Join(errAllow, errDeny); err != nil {
		return nil, fmt.Errorf("network grant: %w", err)
	}
	r := &hostRules{
		allow: reach.NewHosts(allow), deny: reach.NewDenyHosts(deny),
		allowPrivate: g.AllowPrivate, anyAddress: g.AnyAddress, private: make(map[netip.AddrPort]bool, len(g.Private)), readOnly: g.ReadOnly,
	}
	for _, text := range g.Private {
		a, err := netip.ParseAddrPort(text)
		if err != nil {
			return nil, fmt.Errorf("network grant: %w", err)
		}
		r.private[a] = true
	}
	r.ports = r.allow.Ports()
	return r, nil
}

// liftOf returns what of the floor is lifted for an address.
func (p *hostRules) liftOf(a netip.Addr, port uint16) lift {
	switch {
	case p.anyAddress:
		return liftAny
	case p.allowPrivate, p.private[netip.AddrPortFrom(a, port)]:
		return liftPrivate
	default:
		return liftNone
	}
}

// liftsNames reports whether names of this machine and its network may be looked
// up. Their addresses are judged one by one.
func (p *hostRules) liftsNames(port uint16) bool {
	if p.allowPrivate || p.anyAddress {
		return true
	}
	for a := range p.private {
		if a.Port() == port {
			return true
		}
	}
	return false
}

// AnyPolicy returns a policy that lets every host through on every port, where
// a grant of "*" means the usual two. It is for a program that is observed in
// order to find out what to grant; the floor holds for it, too.
func AnyPolicy(allowPrivate bool) *Policy {
	return &Policy{hostRules: hostRules{allow: reach.NewHosts(nil), deny: reach.NewDenyHosts(nil), allowPrivate: allowPrivate, any: true}}
}

// Decide says whether a host may be reached on a port, before DNS. The host
// is in the form of reach.CanonicalHost. The error is an [*sallyport.Error]
// with the code HOST_NOT_ALLOWED. The floor is asked first and the deny list
// before the grant, so that the reason is the strongest one.
func (p *Policy) Decide(host string, port uint16) error {
	err := p.hostRules.checkHost(host, port)
	if over := p.over.Load(); err == nil && over != nil {
		err = over.checkHost(host, port)
	}
	return err
}

// DecideName says whether a host may be reached on any port at all, before DNS.
// The error is one of [Policy.Decide].
func (p *Policy) DecideName(host string) error {
	err := p.hostRules.checkName(host)
	if over := p.over.Load(); err == nil && over != nil {
		err = over.checkName(host)
	}
	return err
}

func (p *hostRules) checkName(host string) error {
	for _, port := range p.ports {
		if p.allow.Match(host, port) && !p.deny.Match(host, port) {
			return p.checkHost(host, port)
		}
	}
	return p.checkHost(host, portHTTPS)
}

// listsHost reports whether a host is in the allow list by itself, on whatever port.
func (p *hostRules) listsHost(host string) bool {
	return slices.ContainsFunc(p.ports, func(port uint16) bool { return p.allow.Lists(host, port) })
}

func (p *hostRules) checkHost(host string, port uint16) error {
	if what := p.floorHost(host, port); what != "" {
		return sallyport.HostError(host, "is "+what)
	}
	if p.deny.Match(host, port) {
		return sallyport.HostError(host, whyDenied)
	}
	if !p.any && !p.allow.Match(host, port) {
		return sallyport.HostError(targetText(host, port), "")
	}
	return nil
}

// Check decides about a host as far as that can be done without a look at DNS:
// the name, and the address of a host that is one. The error is that of
// [Policy.Decide] or [Policy.CheckAddresses].
func (p *Policy) Check(host string, port uint16) error {
	if err := p.Decide(host, port); err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return p.CheckAddresses(host, port, []netip.Addr{ip})
	}
	return nil
}

// CheckAddresses says whether the addresses of a host that [Policy.Decide] has let
// pass may be dialled. One forbidden address among them refuses all: an
// answer that mixes public and private addresses is an attack or a mistake,
// and picking would make the outcome a matter of luck. The error is an
// [*sallyport.Error] with the code HOST_NOT_ALLOWED; the address is in its
// cause and not in its text.
func (p *Policy) CheckAddresses(host string, port uint16, addrs []netip.Addr) error {
	err := p.hostRules.checkAddresses(host, port, addrs)
	if over := p.over.Load(); err == nil && over != nil {
		err = over.checkAddresses(host, port, addrs)
	}
	return err
}

func (p *hostRules) checkAddresses(host string, port uint16, addrs []netip.Addr) error {
	for _, a := range addrs {
		reason := ""
		if what := judgeAddress(a, p.liftOf(a, port)); what != "" {
			reason = "resolves to " + what
		} else if p.deny.Match(a.String(), port) {
			reason = "resolves to an address that " + whyDenied
		}
		if reason == "" {
			continue
		}
		err := sallyport.HostError(host, reason)
		err.Err = reach.DescribeDenied(host, a, "")
		return err
	}
	return nil
}

// targetText writes host and port for an error: the port only when it is
// neither 80 nor 443.
func targetText(host string, port uint16) string {
	if port == portHTTP || port == portHTTPS {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// observedText is targetText for the observer of a call. A private address is granted with its
// port, so that its refusal names the port, whichever it is.
func observedText(host string, port uint16, refusal error) string {
	e, ok := errors.AsType[*sallyport.Error](refusal)
	if ok && e.Code == sallyport.CodeHostNotAllowed && strings.HasPrefix(e.Detail, host+" is a private address (") {
		return net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return targetText(host, port)
}

// parseLiteral returns the address that a canonical host spells; ok is false for a
// name.
func parseLiteral(host string) (a netip.Addr, ok bool) {
	// In canonical form only IPv6 addresses contain a colon, and only IPv4
	// addresses end in a label of digits. Asking first spares names the
	// error value of a failed parse.
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.IndexByte(host, ':') < 0 && (last == "" || strings.Trim(last, "0123456789") != "") {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(host)
	return a, err == nil
}

// metadataNames lists names under which clouds serve credentials; whatever is
// below a dotted one is meant too. The address behind them is on the floor
// anyway; the names stop a resolver that lies or is rewritten.
var metadataNames = [...]string{
	"metadata", "instance-data", "rancher-metadata", "wireserver",
	"metadata.google.internal", "metadata.goog", "metadata.internal",
	"instance-data.ec2.internal", "metadata.aws.amazon.com",
	"metadata.azure.com", "metadata.azure.internal",
	"metadata.oraclecloud.com", "metadata.tencentyun.com",
	"metadata.platformequinix.com", "metadata.packet.net",
	"api.metadata.cloud.ibm.com",
}

// loopbackNames lists names that hosts files give to loopback addresses
// (Debian, Red Hat); whatever is below "localhost" is one by RFC 6761.
var loopbackNames = [...]string{
	"localhost", "localhost.localdomain", "localhost4", "localhost4.localdomain4",
	"localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
}

// floorHost judges what a host says without DNS: a literal address by
// [Floor], a name by the lists above. It returns "" when it may be resolved.
func (p *hostRules) floorHost(host string, port uint16) string {
	if a, ok := parseLiteral(host); ok {
		return judgeAddress(a, p.liftOf(a, port))
	}
	if slices.ContainsFunc(metadataNames[:], func(n string) bool { return isOrBelow(host, n) }) {
		return whatMetadata
	}
	if p.liftsNames(port) {
		return ""
	}
	switch {
	case slices.Contains(loopbackNames[:], host), strings.HasSuffix(host, ".localhost"):
		return whatLoopback
	case strings.HasSuffix(host, ".local"):
		return whatMDNS
	default:
		return ""
	}
}

// isOrBelow reports whether host is name, or below it when name has a dot: a
// single label is a short name of this machine's network, not a zone.
func isOrBelow(host, name string) bool {
	rest, ok := strings.CutSuffix(host, name)
	return ok && (rest == "" || strings.HasSuffix(rest, ".") && strings.Contains(name, "."))
}
