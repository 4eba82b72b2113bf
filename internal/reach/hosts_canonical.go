package reach

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/sallyport/sallyport/internal/text"
)

// Lengths of RFC 1035, section 2.3.4: a label has at most 63 octets, a name
// at most 253 without its final dot. The bound on raw input is generous
// because IDNA mapping can shorten a name; it only stops absurd input early.
const (
	maxLabel    = 63
	maxName     = 253
	maxHostText = 1024
)

// lookup maps a Unicode name to its ASCII form the way browsers do (UTS 46,
// non-transitional), so that every dot, digit and letter that IDNA considers
// equal becomes equal here. Hyphens are left to [checkName]: real names such
// as r3---sn-x.googlevideo.com break the stricter registration rule.
var lookup = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.BidiRule(),
	idna.CheckHyphens(false),
	idna.StrictDomainName(false),
)

var (
	errEmptyHost = errors.New("empty host")
	errZone      = errors.New("an address with a zone is not a host")
)

// CanonicalHost returns the one form in which hosts are compared: lower case,
// IDNA ASCII, no trailing dot, an IP address as netip prints it and without
// brackets. The input has no port; an IPv6 address may stand in brackets. It
// refuses whatever is not a host name or a canonical address, in particular
// numeric names such as 0x7f.1, 017700000001 or 1.1, which resolvers read as
// addresses. A canonical host is returned as it is, without allocating.
func CanonicalHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		inner, ok := strings.CutSuffix(s[1:], "]")
		if !ok {
			return "", hostError(s, errors.New("unclosed bracket"))
		}
		return canonicalIPv6(inner)
	}
	if strings.IndexByte(s, ':') >= 0 {
		return canonicalIPv6(s)
	}
	return canonicalName(s)
}

// SplitHostPort splits "host", "host:port", "[v6]" or "[v6]:port" and returns
// the canonical host and the port, 0 when none is written. An IPv6 address
// needs its brackets. A port is decimal, from 1 to 65535, without a sign or
// leading zeros; "host:" is refused.
func SplitHostPort(s string) (host string, port uint16, err error) {
	name, portText, hasPort := s, "", false
	if strings.HasPrefix(s, "[") {
		i := strings.IndexByte(s, ']')
		if i < 0 {
			return "", 0, hostError(s, errors.New("unclosed bracket"))
		}
		name = s[:i+1]
		if rest := s[i+1:]; rest != "" {
			if portText, hasPort = strings.CutPrefix(rest, ":"); !hasPort {
				return "", 0, hostError(s, errors.New("text after the bracket"))
			}
		}
	} else if name, portText, hasPort = strings.Cut(s, ":"); strings.IndexByte(portText, ':') >= 0 {
		return "", 0, hostError(s, errors.New("an IPv6 address needs brackets"))
	}
	if hasPort {
		if port, err = parsePort(portText); err != nil {
			return "", 0, hostError(s, err)
		}
	}
	host, err = CanonicalHost(name)
	return host, port, err
}

// parsePort reads a decimal port. Sign, blanks and leading zeros are refused,
// because two readers may disagree about them.
func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || s[0] == '0' || s[0] == '+' {
		return 0, fmt.Errorf("%.20q is not a port", s)
	}
	return uint16(n), nil
}

func canonicalIPv6(s string) (string, error) {
	a, err := netip.ParseAddr(s)
	switch {
	case err != nil || !a.Is6():
		return "", hostError(s, errors.New("not an IPv6 address"))
	case a.Zone() != "":
		return "", hostError(s, errZone)
	}
	if text := a.String(); text != s {
		return text, nil
	}
	return s, nil
}

// canonicalName handles everything that has neither brackets nor a colon.
func canonicalName(s string) (string, error) {
	if s == "" {
		return "", errEmptyHost
	}
	if len(s) > maxHostText {
		return "", hostError(s[:maxLabel], errors.New("too long"))
	}
	name, err := asciiName(s)
	if err != nil {
		return "", hostError(s, err)
	}
	name = strings.TrimSuffix(name, ".")
	if err := checkName(name); err != nil {
		return "", hostError(s, err)
	}
	if endsInNumber(name) {
		// Only the canonical dotted quad is an address; netip refuses
		// octal, hexadecimal and short forms.
		if a, err := netip.ParseAddr(name); err != nil || !a.Is4() {
			return "", hostError(s, errors.New("a numeric host must be a canonical IPv4 address"))
		}
	}
	return name, nil
}

// asciiName lower-cases an ASCII name and maps any other by IDNA. A name with
// "xn--" labels is mapped too, which refuses Punycode that stands for nothing
// or for plain ASCII.
func asciiName(s string) (string, error) {
	plain, lower := true, true
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf:
			plain = false
		case 'A' <= c && c <= 'Z':
			lower = false
		}
	}
	if plain {
		if !lower {
			s = strings.ToLower(s)
		}
		if !hasACE(s) {
			return s, nil
		}
	} else if !utf8.ValidString(s) {
		return "", errors.New("not UTF-8")
	}
	mapped, err := lookup.ToASCII(s)
	if err != nil {
		return "", errors.New("not a valid internationalised name")
	}
	return mapped, nil
}

// hasACE reports whether a label of a lower-case name begins with "xn--".
func hasACE(s string) bool {
	return strings.HasPrefix(s, "xn--") || strings.Contains(s, ".xn--")
}

// checkName checks a lower-case ASCII name without its final dot: letters,
// digits, hyphens and underscores (which real names have, RFC 2181 section
// 11) in labels of 1 to 63 octets that neither begin nor end with a hyphen.
func checkName(s string) error {
	if s == "" || len(s) > maxName {
		return errors.New("empty or too long")
	}
	start := 0
	for i := 0; i <= len(s); i++ {
		if i == len(s) || s[i] == '.' {
			if err := checkLabel(s[start:i]); err != nil {
				return err
			}
			start = i + 1
			continue
		}
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return fmt.Errorf("character %q", rune(c))
		}
	}
	return nil
}

func checkLabel(label string) error {
	switch {
	case label == "":
		return errors.New("empty label")
	case len(label) > maxLabel:
		return errors.New("label longer than 63 octets")
	case label[0] == '-', label[len(label)-1] == '-':
		return errors.New("label begins or ends with a hyphen")
	default:
		return nil
	}
}

// endsInNumber reports whether the last label is what the WHATWG URL standard
// calls a number: digits only, or 0x and hexadecimal digits. Resolvers in the
// tradition of inet_aton read such a host as an address.
func endsInNumber(s string) bool {
	last := s[strings.LastIndexByte(s, '.')+1:]
	digits, hex := "0123456789", "0123456789abcdef"
	if strings.Trim(last, digits) == "" {
		return true
	}
	rest, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(rest, hex) == ""
}

// hostError wraps a fault with the host, quoted and cut so that neither
// control characters nor a flood reach a log line.
func hostError(host string, err error) error {
	const shown = 100
	return fmt.Errorf("host %q: %w", text.ClipBytes(host, shown), err)
}
