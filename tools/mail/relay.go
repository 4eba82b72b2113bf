package mail

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/sallyport/sallyport/internal/reach"
)

// How a connection to a relay is protected.
const (
	// TLSStart begins in the clear and goes on only with STARTTLS.
	TLSStart = "starttls"
	// TLSOn is TLS from the first byte.
	TLSOn = "tls"
	// TLSNone is no protection. The relay has to be on this machine and to
	// ask for no credentials.
	TLSNone = "none"
)

// portTLS is the port of submission with TLS from the first byte (RFC 8314,
// section 3.3).
const portTLS = 465

// Relay is a mail server that takes messages for anybody from the operator.
type Relay struct {
	// Host is host:port.
	Host string
	// UserSecret and PasswordSecret are references of the credentials; both
	// are empty for a relay that asks for none.
	UserSecret, PasswordSecret string
	// From is the sender, "agent@example.com" or "Agent <agent@example.com>".
	From string
	// TLS is one of the TLS constants; empty means TLSOn for port 465 and
	// TLSStart for any other.
	TLS string
}

// relay is a checked Relay.
type relay struct {
	Relay
	name string
	// host is canonical, for the certificate.
	host string
	port uint16
	from sender
}

// sender is who a mail is from.
type sender struct {
	// header is for people, address goes by itself into the envelope.
	header *mail.Address
	domain string
	utf8   bool
}

// newRelay checks a relay and fills in what it left out.
func newRelay(name string, in Relay) (*relay, error) {
	r := &relay{Relay: in, name: name}
	var err error
	if r.host, r.port, err = reach.SplitHostPort(in.Host); err != nil || r.port == 0 {
		return nil, fmt.Errorf("host %q: expected host:port", in.Host)
	}
	if r.from, err = parseSender(in.From); err != nil {
		return nil, fmt.Errorf("from %q: %w", in.From, err)
	}
	if (in.UserSecret == "") != (in.PasswordSecret == "") {
		return nil, errors.New("expected both user_secret and password_secret, or neither")
	}
	switch {
	case in.TLS == "" && r.port == portTLS:
		r.TLS = TLSOn
	case in.TLS == "":
		r.TLS = TLSStart
	case in.TLS == TLSNone && in.UserSecret != "":
		return nil, errors.New("tls none: credentials are sent over TLS only")
	case in.TLS == TLSNone && !isLocalName(r.host):
		return nil, errors.New("tls none: only for a relay on this machine, such as 127.0.0.1 or localhost")
	case in.TLS != TLSStart && in.TLS != TLSOn && in.TLS != TLSNone:
		return nil, fmt.Errorf("tls %q: expected starttls, tls or none", in.TLS)
	}
	return r, nil
}

// isLocalName reports whether a name promises to be this machine. What it resolves
// to is judged when it was dialled.
func isLocalName(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && a.IsLoopback()
}

// isLoopbackConn reports whether a connection ends on this machine.
func isLoopbackConn(c net.Conn) bool {
	a, err := netip.ParseAddrPort(c.RemoteAddr().String())
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// dialAddress returns where to connect.
func (r *relay) dialAddress() string {
	return net.JoinHostPort(strings.Trim(r.host, "[]"), strconv.Itoa(int(r.port)))
}

func (r *relay) displayName() string { return "mail relay " + strconv.Quote(r.name) }

// parseSender reads the address of a sender, with or without a name.
func parseSender(s string) (sender, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || strings.ContainsFunc(a.Name, unicode.IsControl) {
		return sender{}, errors.New("expected an address such as agent@example.com")
	}
	address, utf8, err := canonicalAddress(a.Address)
	if err != nil {
		return sender{}, err
	}
	return sender{
		header: &mail.Address{Name: a.Name, Address: address},
		domain: address[strings.LastIndexByte(address, '@')+1:], utf8: utf8,
	}, nil
}
