package egress

import (
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// travels lists the headers that follow a redirect to another origin: they
// describe the representation or the client and hold no credentials. All
// others stay behind, because any header may be a key ("X-Api-Key").
var travels = [...]string{
	"Accept", "Accept-Charset", "Accept-Language", "Cache-Control",
	"Content-Encoding", "Content-Language", "Content-Type", "Pragma", "Range", "User-Agent",
}

// checkHeader refuses headers that would change where a request goes, how
// long it is or what it does. net/http leaves out some of them when they are
// spelled canonically and sends them along otherwise, so spelling does not
// matter here; invalid names and values it refuses itself.
func (c *Client) checkHeader(req *http.Request, to origin) error {
	if req.Host != "" && !sameHost(req.Host, req.URL.Scheme, to) {
		return sallyport.HostError(targetText(to.host, to.port), "does not match the Host header")
	}
	for name, values := range req.Header {
		reason := ""
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Host":
			for _, v := range values {
				if !sameHost(v, req.URL.Scheme, to) {
					reason = "does not match the Host header"
				}
			}
		case "Transfer-Encoding":
			reason = "may not be sent a Transfer-Encoding header"
		case "Content-Length":
			if name != "Content-Length" {
				reason = "may not be sent a second Content-Length header"
			}
		case "Upgrade", "Http2-Settings":
			reason = "may not be asked to change the protocol"
		case "Connection":
			reason = connectionReason(values)
		default:
			if c.policy.readOnly && overridesMethod(name) {
				reason = whyReadOnly + whyOverride
			}
		}
		if reason != "" {
			return sallyport.HostError(targetText(to.host, to.port), reason)
		}
	}
	return nil
}

// whyOverride follows whyReadOnly.
const whyOverride = "the method is overridden"

// overridesMethod reports whether servers take the method of a request from a
// header with this name instead of the request line.
func overridesMethod(name string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "X-Http-Method-Override", "X-Http-Method", "X-Method-Override":
		return true
	default:
		return false
	}
}

// connectionReason refuses connection options that name other headers, which
// intermediaries then remove (RFC 9110, section 7.6.1).
func connectionReason(values []string) string {
	for _, v := range values {
		for option := range strings.SplitSeq(v, ",") {
			switch strings.ToLower(strings.TrimSpace(option)) {
			case "", "close", "keep-alive", "te":
			default:
				return "may not be sent this Connection header"
			}
		}
	}
	return ""
}

// sameHost reports whether a Host header names the origin.
func sameHost(header, scheme string, to origin) bool {
	host, port, err := reach.SplitHostPort(strings.TrimSuffix(header, ":"))
	if err != nil {
		return false
	}
	if port == 0 {
		port = portHTTP
		if scheme == "https" {
			port = portHTTPS
		}
	}
	return host == to.host && port == to.port
}

// sentHeader returns the header as it is sent. It is the caller's own, which
// the transport does not modify, when all of it goes.
func sentHeader(in http.Header, h requestHistory) http.Header {
	staysBehind := func(name string, values []string) bool { return !sendsHeader(name, values, h) }
	for name, values := range in {
		if staysBehind(name, values) {
			out := maps.Clone(in)
			maps.DeleteFunc(out, staysBehind)
			return out
		}
	}
	return in
}

// sendsHeader reports whether a header of the caller goes out on this hop. The Host
// header was checked and stands for the URL's. A Referer never follows a
// redirect: it would carry the query of one URL to the next.
func sendsHeader(name string, values []string, h requestHistory) bool {
	switch {
	case strings.EqualFold(name, "Host"):
		return false
	case strings.EqualFold(name, "Accept-Encoding"):
		return asksIdentity(values)
	case h.hops > 0 && strings.EqualFold(name, "Referer"):
		return false
	case !h.crossed:
		return true
	}
	return slices.ContainsFunc(travels[:], func(t string) bool { return strings.EqualFold(name, t) })
}

// asksIdentity reports whether an Accept-Encoding asks for no compression. Any
// other is left to the transport, which decompresses what it asked for, so
// that the size bound counts what the caller will hold.
func asksIdentity(values []string) bool {
	return len(values) == 1 && strings.EqualFold(strings.TrimSpace(values[0]), "identity")
}
