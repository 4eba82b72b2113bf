package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

const (
	// maxAnswerBytes bounds what a relay may say during one mail, its
	// certificates included.
	maxAnswerBytes = 1 << 20
	// quitWait is how long the goodbye may take; the mail is sent by then.
	quitWait = 2 * time.Second
)

// relaySession is one connection to a relay, for one letter.
type relaySession struct {
	conn   net.Conn
	client *smtp.Client
	relay  *relay
	stop   func() bool
}

// dialRelay connects to a relay and protects the connection. The context closes
// the connection when it ends. Only an error leaves nothing to close.
func (b *Backend) dialRelay(ctx context.Context, r *relay) (*relaySession, error) {
	raw, err := b.o.Dial(ctx, "tcp", r.dialAddress())
	if err != nil {
		return nil, &stepError{step: stepConnect, err: err}
	}
	s := &relaySession{conn: raw, relay: r, stop: context.AfterFunc(ctx, func() { _ = raw.Close() })}
	if err := s.greetRelay(ctx, &boundedConn{Conn: raw, left: maxAnswerBytes}, &tls.Config{
		ServerName: strings.Trim(r.host, "[]"), RootCAs: b.o.RootCAs, MinVersion: tls.VersionTLS12,
	}); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// greetRelay greets the relay. Whatever it says before TLS is forgotten with the
// reader that read it.
func (s *relaySession) greetRelay(ctx context.Context, conn net.Conn, config *tls.Config) (err error) {
	switch s.relay.TLS {
	case TLSOn:
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			return &stepError{step: stepTLS, err: err}
		}
		conn = secured
	case TLSNone:
		// The name was checked; where it led to is what counts.
		if !isLoopbackConn(conn) {
			return &stepError{step: stepLocal}
		}
	}
	if s.client, err = smtp.NewClient(conn, s.relay.host); err == nil {
		err = s.client.Hello(greetingName(conn))
	}
	if err != nil {
		return &stepError{step: stepGreet, err: err}
	}
	if s.relay.TLS != TLSStart {
		return nil
	}
	if offered, _ := s.client.Extension("STARTTLS"); !offered {
		return &stepError{step: stepNoTLS}
	}
	return newStepError(stepTLS, s.client.StartTLS(config))
}

// greetingName returns how this machine calls itself: by its address, because
// the name that it has inside stays private (RFC 5321, section 4.1.3).
func greetingName(c net.Conn) string {
	a, err := netip.ParseAddrPort(c.LocalAddr().String())
	switch ip := a.Addr().Unmap().WithZone(""); {
	case err != nil:
		return "localhost"
	case ip.Is4():
		return "[" + ip.String() + "]"
	default:
		return "[IPv6:" + ip.String() + "]"
	}
}

// deliverLetter authenticates and hands over one letter.
func (s *relaySession) deliverLetter(who credentials, l *letter) error {
	if err := s.authenticate(who); err != nil {
		return err
	}
	if offered, _ := s.client.Extension("SMTPUTF8"); l.utf8 && !offered {
		return &stepError{step: stepUTF8}
	}
	s.client.SkipSMTPUTF8(!l.utf8)
	if err := s.client.Mail("<" + l.from + ">"); err != nil {
		return &stepError{step: stepSender, err: err}
	}
	for _, to := range l.to {
		if err := s.client.Rcpt("<" + to + ">"); err != nil {
			return &stepError{step: stepRecipient, what: to, err: err}
		}
	}
	w, err := s.client.Data()
	if err != nil {
		return &stepError{step: stepContent, err: err}
	}
	// After a failure here nothing more may be written, not even a goodbye:
	// it would end half a letter with the dot that makes it a whole one.
	if _, err := bytes.NewReader(l.text).WriteTo(w); err != nil {
		return &stepError{step: stepContent, err: err}
	}
	return newStepError(stepVerdict, w.Close())
}

// authenticate tells the relay who sends, over TLS only. An answer's text may
// repeat what it was told, so that only its code is kept.
func (s *relaySession) authenticate(who credentials) error {
	if who == (credentials{}) {
		return nil
	}
	if _, secured := s.client.TLSConnectionState(); !secured {
		return &stepError{step: stepNoTLS}
	}
	user, password := who.user.Reveal(), who.password.Reveal()
	var auth smtp.Auth
	_, offered := s.client.Extension("AUTH")
	for _, mechanism := range strings.Fields(offered) {
		switch {
		case strings.EqualFold(mechanism, "PLAIN"):
			auth = smtp.PlainAuth("", user, password, s.relay.host, false)
		case strings.EqualFold(mechanism, "LOGIN") && auth == nil:
			auth = smtp.LoginAuth(user, password, s.relay.host, false)
		}
	}
	if auth == nil {
		return &stepError{step: stepNoAuth}
	}
	if err := s.client.Auth(auth); err != nil {
		return &stepError{step: stepAuth, err: withoutText(err)}
	}
	return nil
}

// quit says goodbye, which is politeness: the relay has the letter.
func (s *relaySession) quit() {
	if s.conn.SetDeadline(time.Now().Add(quitWait)) == nil {
		_ = s.client.Quit()
	}
}

func (s *relaySession) close() {
	s.stop()
	_ = s.conn.Close() // What mattered was confirmed by the relay or is an error already.
}

// boundedConn is a connection whose other end may say so much and no more.
type boundedConn struct {
	net.Conn
	left int
}

var errTooMuch = errors.New("the relay says too much")

// Read fails when the bound is reached. It is called by one goroutine.
func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
