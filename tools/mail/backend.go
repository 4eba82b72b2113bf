package mail

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// defaultTimeout bounds one mail, connecting included. RFC 5321, section
// 4.5.3.2 lets a relay think for minutes; a caller does not wait that long.
const defaultTimeout = time.Minute

// Options configure a backend. The zero value uses the system's dialer and
// certificates and can serve relays without credentials only.
type Options struct {
	// Secrets finds the credentials of the relays, for each mail anew.
	Secrets sallyport.SecretSource
	// Dial connects to a relay; nil means the system's dialer. The network
	// is tcp, the address host:port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs is whom to trust for TLS; nil means the system's pool.
	RootCAs *x509.CertPool
	// Timeout bounds one mail, connecting included; 0 means one minute.
	Timeout time.Duration
}

// Backend hands messages to relays. It keeps no connection open between
// messages and is safe for concurrent use.
type Backend struct {
	relays map[string]*relay
	o      Options
}

var (
	_ sallyport.MailBackend = (*Backend)(nil)
	_ sallyport.TargetNamer = (*Backend)(nil)
)

// Open checks the relays, by name, and returns a backend for them. It connects
// to none of them. All faults are reported at once.
func Open(relays map[string]Relay, o *Options) (*Backend, error) {
	b := &Backend{relays: map[string]*relay{}}
	if o != nil {
		b.o = *o
	}
	var faults []error
	if b.o.Timeout = cmp.Or(b.o.Timeout, defaultTimeout); b.o.Timeout < 0 {
		faults = append(faults, errors.New("mail: the timeout is negative"))
	}
	if b.o.Dial == nil {
		b.o.Dial = (&net.Dialer{}).DialContext
	}
	for _, name := range slices.Sorted(maps.Keys(relays)) {
		r, err := newRelay(name, relays[name])
		if err == nil && r.UserSecret != "" && b.o.Secrets == nil {
			err = errors.New("it has credentials, and no secrets are configured")
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("mail relay %s: %w", name, err))
			continue
		}
		b.relays[name] = r
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return b, nil
}

// Target implements [sallyport.TargetNamer]: relay, sender and the reference of
// the account.
func (b *Backend) Target(_ context.Context, name string) (string, error) {
	r, ok := b.relays[name]
	if !ok {
		return "", notConfigured(name)
	}
	target := "mail relay " + r.dialAddress() + " (" + r.TLS + ") from " + r.from.header.String()
	if r.UserSecret != "" {
		target += ", account " + r.UserSecret
	}
	return target, nil
}

// Send hands a message to a relay and returns when the relay has taken the
// responsibility for it. Errors are of type [*sallyport.Error], and their
// texts may be shown: input_invalid for a message that cannot be sent,
// not_available for a relay that is not configured, execution_failed
// otherwise. They tell whether the relay refused for good or for now, and when
// it is unknown whether the mail was sent. Nothing is tried twice.
func (b *Backend) Send(ctx context.Context, name string, m sallyport.Message) error {
	r, ok := b.relays[name]
	if !ok {
		return notConfigured(name)
	}
	l, err := composeLetter(r.from, m)
	if err != nil {
		return sallyport.InputInvalid(err.Error())
	}
	return b.withSession(ctx, r, func(s *relaySession, who credentials) error { return s.deliverLetter(who, l) })
}

// Check connects to a relay and logs in, and sends nothing. Its errors are those
// of [Backend.Send].
func (b *Backend) Check(ctx context.Context, name string) error {
	r, ok := b.relays[name]
	if !ok {
		return notConfigured(name)
	}
	return b.withSession(ctx, r, (*relaySession).authenticate)
}

// withSession connects to a relay, does something, and takes leave of it.
func (b *Backend) withSession(ctx context.Context, r *relay, do func(s *relaySession, who credentials) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.o.Timeout)
	defer cancel()
	who, err := b.readCredentials(ctx, r)
	if err != nil {
		return err
	}
	s, err := b.dialRelay(ctx, r)
	if err != nil {
		return r.toCallerError(ctx, err)
	}
	defer s.close()
	if err := do(s, who); err != nil {
		return r.toCallerError(ctx, err)
	}
	s.quit()
	return nil
}

func notConfigured(name string) error {
	return &sallyport.Error{
		Code: sallyport.CodeNotAvailable, Resource: name,
		Detail: "mail relay " + strconv.Quote(name) + " is not configured",
	}
}

// credentials are what a relay wants to know; the zero value means no login.
type credentials struct{ user, password sallyport.Secret }

// readCredentials reads the relay's credentials now, so that a rotated one counts.
func (b *Backend) readCredentials(ctx context.Context, r *relay) (c credentials, err error) {
	if r.UserSecret == "" {
		return c, nil
	}
	if c.user, err = b.readSecret(ctx, r, r.UserSecret); err != nil {
		return c, err
	}
	c.password, err = b.readSecret(ctx, r, r.PasswordSecret)
	return c, err
}

func (b *Backend) readSecret(ctx context.Context, r *relay, ref string) (sallyport.Secret, error) {
	s, ok, err := b.o.Secrets.Secret(ctx, ref)
	// SASL PLAIN separates its parts by NUL.
	if err == nil && ok && s != (sallyport.Secret{}) && !strings.ContainsRune(s.Reveal(), 0) {
		return s, nil
	}
	return sallyport.Secret{}, &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: r.name, Operation: "get",
		Detail: r.displayName() + " is not ready: the secret " + ref + " has no usable value", Err: err,
	}
}
