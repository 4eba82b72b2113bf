package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	portHTTP  = 80
	portHTTPS = 443

	// maxURL bounds a URL. Servers and browsers agree on not more than this;
	// RFC 9110, section 4.1, asks for 8000.
	maxURL = 8192
)

// origin is where a request goes: the triple of RFC 6454 in canonical form.
type origin struct {
	scheme, host string
	port         uint16
}

// ParseURL reads the text of a URL that a caller or a server wrote. It
// refuses, before any parser gets to guess: other schemes than http and
// https, user info, blanks, control characters, backslashes in front of the
// query, hosts that have no canonical form and bad ports. A tool that takes a
// URL as an argument calls it before anything else. The error is an
// [*sallyport.Error] with the code HOST_NOT_ALLOWED; it never repeats the
// URL, which may hold a secret.
func ParseURL(raw string) (*url.URL, error) {
	if err := checkText(raw); err != nil {
		return nil, err
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, urlError("", "cannot be read")
	}
	if _, err := originOf(u); err != nil {
		return nil, err
	}
	return u, nil
}

// checkText judges the text of an absolute URL or of a Location header.
func checkText(raw string) error {
	if len(raw) > maxURL {
		return urlError("", "is longer than 8192 bytes")
	}
	if !utf8.ValidString(raw) {
		return urlError("", "is not UTF-8")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return urlError("", "contains a blank or a control character")
	}
	front, _, _ := strings.Cut(raw, "?")
	front, _, _ = strings.Cut(front, "#")
	if strings.ContainsRune(front, '\\') {
		return urlError("", "contains a backslash")
	}
	return nil
}

// originOf judges a parsed URL and returns where it leads.
func originOf(u *url.URL) (origin, error) {
	o := origin{scheme: u.Scheme}
	switch {
	case u.Scheme == "http":
		o.port = portHTTP
	case u.Scheme == "https":
		o.port = portHTTPS
	default:
		return origin{}, urlError("", "does not begin with http:// or https://")
	}
	switch {
	case u.Opaque != "" || u.Host == "":
		return origin{}, urlError("", "has no host")
	case u.User != nil:
		return origin{}, urlError("", "carries user info")
	case u.Path != "" && u.Path[0] != '/':
		// It would become an absolute request target, whose authority beats
		// the Host header (RFC 9112, section 3.2.2).
		return origin{}, urlError("", "has a path that does not begin with a slash")
	case strings.ContainsAny(u.RawQuery, " \t\r\n"):
		return origin{}, urlError("", "contains a blank or a control character")
	}
	// The colon without a port is legal and means the default.
	host, port, err := reach.SplitHostPort(strings.TrimSuffix(u.Host, ":"))
	if err != nil {
		return origin{}, badHost(u.Host, err)
	}
	o.host = host
	if port != 0 {
		o.port = port
	}
	return o, nil
}

// urlHost returns the host of URL u, whose origin is o, as it is sent:
// with a port if u has one.
func (o origin) urlHost(u *url.URL) string {
	if rest, ok := strings.CutPrefix(u.Host, o.host); ok && (rest == "" || len(rest) > 1 && rest[0] == ':') {
		return u.Host // canonical already, with a port or without
	}
	host := o.host
	if strings.IndexByte(host, ':') >= 0 {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" {
		host += ":" + p
	}
	return host
}

func urlError(host, reason string) *sallyport.Error {
	return &sallyport.Error{
		Code: sallyport.CodeHostNotAllowed, Resource: host, Operation: "dial",
		Detail: "the URL " + reason,
	}
}

// badHost refuses a host without a canonical form. A number in one of the
// spellings that inet_aton reads is refused whatever it stands for; what it
// stands for is said for the reader's sake.
func badHost(raw string, cause error) *sallyport.Error {
	quoted := text.Clip(strconv.QuoteToASCII(raw), 100)
	e := sallyport.HostError(quoted, "is not a host name or canonical address")
	e.Err = cause
	if a, ok := looseIPv4(raw); ok {
		e.Detail = quoted + " is an unusual spelling of an address"
		if what := Floor(a, false); what != "" {
			e.Detail += ", " + what
		}
	}
	return e
}

// looseIPv4 reads what inet_aton reads: one to four parts in decimal, octal
// or hexadecimal, the last filling the remaining bytes.
func looseIPv4(host string) (netip.Addr, bool) {
	host, _, _ = strings.Cut(host, ":")
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var n uint64
	for i, part := range parts {
		if strings.HasPrefix(part, "+") || strings.Contains(part, "_") {
			return netip.Addr{}, false
		}
		v, err := strconv.ParseUint(part, 0, 32)
		last, limit := i == len(parts)-1, uint64(255)
		if last {
			limit = 1<<(8*(5-len(parts))) - 1
		}
		if err != nil || v > limit {
			return netip.Addr{}, false
		}
		if last {
			n |= v
		} else {
			n |= v << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}), true
}
