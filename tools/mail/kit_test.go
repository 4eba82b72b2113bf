package mail_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/mail"
)

const (
	relayName = "relay.example"
	user      = "robot@example.com"
	password  = "correct horse battery"
)

// delivered is a mail as the server took it.
type delivered struct {
	from string
	to   []string
	text string
	user string
	utf8 bool
	tls  bool
}

// server is a real SMTP server on loopback.
type server struct {
	*smtp.Server
	address string
	roots   *x509.CertPool

	mechanisms []string
	// refuse returns the reply to a step: mail, rcpt, data; nil accepts.
	refuse func(step, what string) error

	mu   sync.Mutex
	box  []delivered
	seen int // connections
}

// newServer starts a server with a certificate for relayName; set changes it
// before it listens.
func newServer(t testing.TB, set func(*server)) *server {
	t.Helper()
	cert, roots := certificate(t, relayName)
	s := &server{roots: roots, mechanisms: []string{sasl.Plain}}
	s.Server = smtp.NewServer(s)
	s.Domain, s.TLSConfig = relayName, &tls.Config{Certificates: []tls.Certificate{cert}}
	s.ErrorLog = log.New(io.Discard, "", 0)
	s.MaxMessageBytes = 8 << 20
	if set != nil {
		set(s)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	if s.Addr == "tls" {
		l = tls.NewListener(l, s.TLSConfig)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		_ = l.Close() // Close does not know a listener that is not served yet.
		<-done
	})
	return s
}

// dial sends every name to the server.
func (s *server) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, s.address)
}

// backend is a backend whose relays all lead to the server.
func (s *server) backend(t testing.TB, r mail.Relay) *mail.Backend {
	t.Helper()
	b, err := mail.Open(map[string]mail.Relay{"default": r}, &mail.Options{
		Secrets: scopedtest.Secrets{"mail/user": user, "mail/password": password},
		RootCAs: s.roots, Dial: s.dial,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// relay is a relay with credentials.
func relay() mail.Relay {
	return mail.Relay{
		Host: relayName + ":587", UserSecret: "mail/user", PasswordSecret: "mail/password", From: "Agent <agent@example.com>",
	}
}

// open is a relay without credentials.
func open() mail.Relay { return mail.Relay{Host: relayName + ":587", From: "agent@example.com"} }

func (s *server) mails() []delivered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]delivered(nil), s.box...)
}

func (s *server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func (s *server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen++
	_, secured := c.TLSConnectionState()
	return &exchange{of: s, current: delivered{tls: secured}}, nil
}

// exchange is one connection at the server.
type exchange struct {
	of      *server
	current delivered
}

func (e *exchange) AuthMechanisms() []string { return e.of.mechanisms }

func (e *exchange) Auth(mechanism string) (sasl.Server, error) {
	check := func(name, secret string) error {
		if name != user || secret != password {
			// A careless server repeats what it was told.
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "no: " + name + " " + secret}
		}
		e.current.user = name
		return nil
	}
	if mechanism == sasl.Login {
		return &loginServer{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, name, secret string) error { return check(name, secret) }), nil
}

func (e *exchange) answer(step, what string) error {
	if e.of.refuse == nil {
		return nil
	}
	return e.of.refuse(step, what)
}

func (e *exchange) Mail(from string, o *smtp.MailOptions) error {
	if len(e.of.mechanisms) > 0 && e.of.mechanisms[0] == "required" && e.current.user == "" {
		return smtp.ErrAuthRequired
	}
	e.current.from, e.current.utf8 = from, o.UTF8
	return e.answer("mail", from)
}

func (e *exchange) Rcpt(to string, _ *smtp.RcptOptions) error {
	e.current.to = append(e.current.to, to)
	return e.answer("rcpt", to)
}

func (e *exchange) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := e.answer("data", ""); err != nil {
		return err
	}
	e.current.text = string(text)
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.of.box = append(e.of.box, e.current)
	return nil
}

func (e *exchange) Reset()        {}
func (e *exchange) Logout() error { return nil }

// loginServer is the mechanism LOGIN, which go-sasl has for clients only.
type loginServer struct {
	step  int
	name  string
	check func(name, secret string) error
}

func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	l.step++
	switch l.step {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.name = string(response)
		return []byte("Password:"), false, nil
	default:
		return nil, true, l.check(l.name, string(response))
	}
}

// certificate returns a certificate for a name and the authority that made it.
func certificate(t testing.TB, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	der, err = x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(root)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// message is a mail that nothing speaks against.
func message() sallyport.Message {
	return sallyport.Message{To: []string{"bob@example.com"}, Subject: "Hello", Body: "Dear Bob,\n.\nthis is it.\n"}
}

// wantFailure checks that an error says what it should and betrays nothing.
func wantFailure(t *testing.T, err error, want string) {
	t.Helper()
	e, ok := errors.AsType[*sallyport.Error](err)
	if !ok || !strings.Contains(e.Error(), want) {
		t.Fatalf("Send = %v, want a coded error with %q", err, want)
	}
	if strings.Contains(e.Error(), "127.0.0.1") {
		t.Errorf("the error %q holds the address of the relay", e)
	}
	// The log sees the causes too.
	for at := err; at != nil; at = errors.Unwrap(at) {
		for _, secret := range []string{password, user} {
			if strings.Contains(at.Error(), secret) {
				t.Errorf("the error %q holds %q", at, secret)
			}
		}
	}
}
