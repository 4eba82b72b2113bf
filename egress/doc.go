// Package egress is the one way by which bytes leave: it decides about a host
// and its addresses, dials what it has judged, and carries HTTP over that.
//
// Start with [New], which compiles a grant into a [Client], and
// [Client.Bind], which gives one call its *http.Client and DialContext.
// [NewProxy] serves a confined child in the same way, of the same parts:
// [Policy] decides; a dialer resolves, judges and connects.
//
// It promises that only granted hosts on granted ports are dialled; that the
// address dialled is one that was judged, in the same step, after DNS, and is
// not on the floor ([Floor]); that each redirect is checked like a first
// request and carries no credentials to another origin; that no proxy of the
// environment is used; and that size and time of a response are bounded. It
// does not look into the bytes: what a granted host is told is the tool's
// responsibility. What a proxy promises and looks at is said at [Proxy].
//
// The register of promises is docs/guarantees.md: G-NET, G-PROXY.
package egress
