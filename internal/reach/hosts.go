package reach

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// hostKind says which names a pattern matches. The zero kind matches none.
type hostKind uint8

const (
	hostNone  hostKind = iota
	hostExact          // the name or address itself
	hostBelow          // any name below it, "*.x"
	hostAny            // "*"
)

// The ports that an entry without a port means.
const (
	portHTTP  = 80
	portHTTPS = 443
)

// HostPattern is one entry of a host list in canonical form: an exact host,
// "*.x" for any name below x and not x itself, or "*", each with an optional
// port. Without a port, 80 and 443 are meant. Patterns are comparable with
// ==. The zero HostPattern matches nothing and prints as "".
type HostPattern struct {
	kind hostKind
	port uint16
	host string
}

// ParseHost reads an entry of a host list: "a.b", "*.b", "*", an IPv4
// address, an IPv6 address with or without brackets, and with ":port" behind
// it ("[::1]:8443" for IPv6). The host is brought into the form of
// [CanonicalHost]. URLs, user info, paths, blanks, other wildcards such as
// "*foo.com" or "a.*.b", and whatever CanonicalHost refuses are errors.
func ParseHost(s string) (HostPattern, error) {
	switch {
	case s == "":
		return HostPattern{}, errEmptyHost
	case strings.Contains(s, "://"):
		return HostPattern{}, hostError(s, errors.New("a host is expected, not a URL"))
	case strings.ContainsAny(s, "/\\?#"):
		return HostPattern{}, hostError(s, errors.New("a host is expected, without a path"))
	case strings.Contains(s, "@"):
		return HostPattern{}, hostError(s, errors.New("a host is expected, without user info"))
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Is6() && a.Zone() == "" {
		return HostPattern{kind: hostExact, host: a.String()}, nil
	}
	if rest, ok := strings.CutPrefix(s, "*"); ok {
		return parseWildcard(s, rest)
	}
	if strings.Contains(s, "*") {
		return HostPattern{}, hostError(s, errWildcard)
	}
	host, port, err := SplitHostPort(s)
	if err != nil {
		return HostPattern{}, err
	}
	return HostPattern{kind: hostExact, host: host, port: port}, nil
}

var errWildcard = errors.New(`a wildcard is "*" or "*." followed by a name`)

// parseWildcard reads what follows the leading asterisk of s.
func parseWildcard(s, rest string) (HostPattern, error) {
	if rest == "" {
		return HostPattern{kind: hostAny}, nil
	}
	if text, ok := strings.CutPrefix(rest, ":"); ok {
		port, err := parsePort(text)
		if err != nil {
			return HostPattern{}, hostError(s, err)
		}
		return HostPattern{kind: hostAny, port: port}, nil
	}
	name, ok := strings.CutPrefix(rest, ".")
	if !ok || strings.Contains(name, "*") || strings.HasPrefix(name, "[") {
		return HostPattern{}, hostError(s, errWildcard)
	}
	host, port, err := SplitHostPort(name)
	if err != nil {
		return HostPattern{}, err
	}
	if endsInNumber(host) {
		return HostPattern{}, hostError(s, errors.New("nothing is below an address"))
	}
	return HostPattern{kind: hostBelow, host: host, port: port}, nil
}

// ParseHosts reads a list with [ParseHost] and reports every fault at once,
// joined. A nil list gives nil and an empty list an empty one, because the
// two mean different things to [IntersectHosts].
func ParseHosts(list []string) ([]HostPattern, error) {
	if list == nil {
		return nil, nil
	}
	out, errs := make([]HostPattern, 0, len(list)), []error(nil)
	for i, s := range list {
		p, err := ParseHost(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %d: %w", i+1, err))
			continue
		}
		out = append(out, p)
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return out, nil
}

// String returns the canonical spelling, which [ParseHost] reads back to the
// same pattern.
func (p HostPattern) String() string {
	var b strings.Builder
	switch p.kind {
	case hostExact:
		if strings.IndexByte(p.host, ':') >= 0 {
			b.WriteString("[" + p.host + "]")
		} else {
			b.WriteString(p.host)
		}
	case hostBelow:
		b.WriteString("*." + p.host)
	case hostAny:
		b.WriteByte('*')
	case hostNone:
		return ""
	}
	if p.port != 0 {
		b.WriteString(":" + strconv.Itoa(int(p.port)))
	}
	return b.String()
}

// Any reports whether the pattern is "*", with or without a port.
func (p HostPattern) Any() bool { return p.kind == hostAny }

// Covers reports whether the pattern matches everything that q matches.
func (p HostPattern) Covers(q HostPattern) bool {
	r, ok := p.intersect(q)
	return ok && r == q
}

// portPair returns the one or two ports that the pattern means.
func (p HostPattern) portPair() (first, second uint16) {
	if p.port == 0 {
		return portHTTP, portHTTPS
	}
	return p.port, p.port
}

// isBelow reports whether name is strictly below parent.
func isBelow(name, parent string) bool {
	cut := len(name) - len(parent)
	return cut > 1 && name[cut-1] == '.' && name[cut:] == parent
}
