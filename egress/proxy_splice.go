package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// minPlaceholder is the shortest stand-in: a shorter one would be met by
	// chance.
	minPlaceholder = 8
	// maxSpliced bounds a value: servers take header fields up to 8 KiB.
	maxSpliced = 8 << 10
)

// unreserved is the characters that are spelled the same in a header, a
// query, JSON and HTML (RFC 3986, section 2.3). A stand-in has no others.
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// spliceSet is what a run puts in the place of stand-ins. A nil *spliceSet
// holds none.
type spliceSet struct {
	list      []hostSplice
	authority *certAuthority
}

// hostSplice is a secret, its stand-in and the hosts that get it.
type hostSplice struct {
	placeholder string
	value       sallyport.Secret
	prefixes    []string
	hosts       *reach.Hosts
	// names is the hosts on whatever port.
	names *reach.Hosts
}

// newSpliceSet checks the list; it returns nil when there is nothing to splice.
func newSpliceSet(list []sallyport.Splice) (*spliceSet, error) {
	if len(list) == 0 {
		return nil, nil
	}
	s := &spliceSet{}
	var patterns []string
	for i, in := range list {
		hosts, err := reach.ParseHosts(in.Hosts)
		value := in.Value.Reveal()
		switch {
		case err != nil:
		case len(in.Placeholder) < minPlaceholder || strings.Trim(in.Placeholder, unreserved) != "":
			err = errors.New("the stand-in is shorter than 8 bytes or has other characters than URLs leave alone")
		case len(value) < reach.MinSecretBytes || len(value) > maxSpliced:
			err = errors.New("the value has fewer than 8 or more than 8192 bytes")
		case strings.Contains(in.Placeholder, value) || strings.Contains(value, in.Placeholder):
			err = errors.New("the stand-in and the value contain each other")
		default:
			err = reach.CheckPrefixes(in.Prefixes)
		}
		if err != nil {
			return nil, fmt.Errorf("egress: splice %d: %w", i+1, err)
		}
		for _, h := range hosts {
			patterns = append(patterns, h.String())
		}
		s.list = append(s.list, hostSplice{
			placeholder: in.Placeholder, value: in.Value, prefixes: slices.Concat(in.Prefixes, everyPrefix[:]),
			hosts: reach.NewHosts(hosts), names: reach.NewDenyHosts(hosts),
		})
	}
	var err error
	s.authority, err = newCertAuthority(patterns)
	return s, err
}

// swapFor returns what is swapped on the way to a host, nil when nothing is. A
// value is put in where its patterns say and the way is encrypted; it is taken
// out of what comes from the host's other ports too, because a server that
// keeps what it got on one may show it on another. Port 80 is that of HTTP
// without encryption, also when a pattern means both.
func (s *spliceSet) swapFor(host string, port uint16, encrypted bool) *hostSwap {
	if s == nil {
		return nil
	}
	var w *hostSwap
	for _, one := range s.list {
		if !one.names.Match(host, port) {
			continue
		}
		if w == nil {
			w = &hostSwap{}
		}
		w.hideFrom(one)
		if encrypted && port != portHTTP && one.hosts.Match(host, port) {
			w.standIns = append(w.standIns, standInValue{one.placeholder, one.value.Reveal(), one.prefixes})
		}
	}
	return w
}

func (s *spliceSet) inHost(host string) bool {
	return s != nil && slices.ContainsFunc(s.list, func(one hostSplice) bool {
		return strings.Contains(strings.ToLower(host), strings.ToLower(one.placeholder))
	})
}

// mentionsStandIn reports whether a request without encryption holds a stand-in that
// would have been replaced with it.
func (s *spliceSet) mentionsStandIn(to origin, r *http.Request) bool {
	if s == nil {
		return false
	}
	for _, one := range s.list {
		if !one.hosts.Match(to.host, to.port) {
			continue
		}
		if strings.Contains(r.URL.RawQuery, one.placeholder) {
			return true
		}
		for _, values := range r.Header {
			for _, v := range values {
				if _, user, ok := parseBasic(v); ok {
					v = user
				}
				if strings.Contains(v, one.placeholder) {
					return true
				}
			}
		}
	}
	return false
}

// hostSwap puts values in the place of stand-ins in the requests to one host, and
// stand-ins in the place of values in the answers.
type hostSwap struct {
	standIns []standInValue // empty where no value may travel
	back     []textPair     // a form of the value, stand-in
	spelt    []*escapedValue
}

// textPair is a text and what takes its place.
type textPair struct{ from, to string }

// hideFrom keeps a value from the child, also as a server reads it that decodes
// what it was given as it is.
func (s *hostSwap) hideFrom(one hostSplice) {
	for _, value := range readingsOf(one.value.Reveal()) {
		s.spelt = append(s.spelt, newEscapedValue(value, one.placeholder))
	}
	for _, form := range formsOf(one.value.Reveal()) {
		s.addHidden(form, one.placeholder)
	}
}

// addHidden adds a text that must not reach the child.
func (s *hostSwap) addHidden(form, placeholder string) {
	if !slices.ContainsFunc(s.back, func(p textPair) bool { return p.from == form }) {
		s.back = append(s.back, textPair{form, placeholder})
	}
}

// insertValues puts the values into the head of a request. Every answer of the host
// has to be one in which they can be seen: whole and uncompressed.
func (s *hostSwap) insertValues(r *http.Request) misplacedAt {
	switch {
	case s.mentionedFolded(r.Method):
		return "in the method"
	case s.mentionedFolded(r.URL.Host):
		return "in the host"
	case s.mentionsStandIn(r.URL.EscapedPath()) || s.mentionsStandIn(r.URL.Path):
		return "in the path of a URL"
	}
	var bad misplacedAt
	if r.URL.RawQuery, bad = s.fillPairs(r.URL.RawQuery, "a query"); bad != "" {
		return bad
	}
	if bad = s.fillHeaders(r.Header); bad != "" {
		return bad
	}
	for _, name := range partial {
		r.Header.Del(name)
	}
	r.Header.Set("Accept-Encoding", "identity")
	return ""
}

// partial lists the fields that ask for a part of an answer, a difference to
// one, or its text in another encoding (RFC 9110, section 14; RFC 3229; what
// object stores read instead of Range). A value cut in two would not be found.
var partial = [...]string{
	"Range", "If-Range", "Request-Range", "X-Ms-Range", "X-Goog-Range", "A-Im", "Accept-Charset",
}

// isPartial reports whether an answer is a part of something, asked for or not:
// a child that reads it byte by byte would put a value together.
func (s *hostSwap) isPartial(resp *http.Response) bool {
	if resp.StatusCode == http.StatusPartialContent || resp.StatusCode == http.StatusIMUsed {
		return true
	}
	_, ranged := resp.Header["Content-Range"]
	for _, v := range resp.Header["Content-Type"] {
		kind, _, _ := strings.Cut(v, ";")
		ranged = ranged || strings.EqualFold(strings.TrimSpace(kind), "multipart/byteranges")
	}
	return ranged
}

// isEncoded reports whether an answer is encoded, so that nothing can be seen in
// it.
func (s *hostSwap) isEncoded(resp *http.Response) bool {
	return slices.ContainsFunc(resp.Header["Content-Encoding"], func(v string) bool {
		return v != "" && !strings.EqualFold(v, "identity")
	})
}

func (s *hostSwap) scrubHeader(h http.Header) {
	for name, values := range h {
		if s.scrubText(name) != name || s.hasFolded(name) {
			delete(h, name)
			continue
		}
		for i, v := range values {
			values[i] = s.scrubText(v)
		}
	}
}

func (s *hostSwap) scrubText(text string) string {
	for _, p := range s.back {
		text = strings.ReplaceAll(text, p.from, p.to)
	}
	for _, p := range s.spelt {
		text = p.replaceAll(text)
	}
	return text
}

// hasFolded reports whether a header's name is made of a value: its letters
// have lost their case on the way.
func (s *hostSwap) hasFolded(name string) bool {
	return slices.ContainsFunc(s.back, func(p textPair) bool {
		return strings.Contains(strings.ToLower(name), strings.ToLower(p.from))
	})
}

func (p *Proxy) terminateTLS(ctx context.Context, cancel context.CancelFunc, c *childConn, t *tunnel) {
	c.boundReading(p.headTimeout)
	first, err := c.r.Peek(1)
	if err != nil {
		return
	}
	if first[0] != recordHandshake && t.port == portHTTP {
		p.serveHTTP(ctx, cancel, c, t.readHere("http"))
		return
	}
	if first[0] != recordHandshake {
		// A value may only travel encrypted, and a raw tunnel to this host
		// would be one in which nothing is hidden again.
		p.refuseInside(t, "", "gets a secret and is not spoken to in TLS")
		return
	}
	s := tls.Server(bufferedConn{c}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if err := p.checkName(t, hello.ServerName); err != nil {
				return nil, err
			}
			return p.splices.authority.certificateFor(t.host)
		},
	})
	if err := s.HandshakeContext(ctx); err != nil {
		p.uses.entryFor(t.host, t.port, true).setReason("the child did not accept the certificate of the run")
		return
	}
	inside := newChildConn(s, c.idle, c.wait)
	defer func() {
		inside.releaseBuffer()
		c.shared = c.shared || inside.shared
	}()
	p.serveHTTP(ctx, cancel, inside, t.readHere("https"))
	s.Close()
}
