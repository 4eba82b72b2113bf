package push

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/siem"
)

const (
	// facilityAudit is log audit (RFC 5424, section 6.2.1).
	facilityAudit = 13
	// maxDatagram bounds a message over UDP: what fits into a datagram.
	maxDatagram = 65_000
	// sendWait bounds a connection, and the sending of a batch.
	sendWait = 15 * time.Second
	// confirmWait is how long a collector has to end a connection that it does not want,
	// endWait how long it has to take the rest at the end.
	confirmWait, endWait = 20 * time.Millisecond, 2 * time.Second
	// maxSequence is the largest sequenceId (RFC 5424, section 7.3.1).
	maxSequence = 1<<31 - 1
)

// Dial connects to an address.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Syslog hands records to a syslog collector (RFC 5424): over TCP and TLS with octet
// counting (RFC 6587, RFC 5425), over UDP in datagrams. The protocol has no answers: what a
// collector has taken is known only as far as it did not end the connection.
type Syslog struct {
	network, address, host string
	dial                   Dial
	tls                    *tls.Config // nil without TLS
	header                 string      // host, program and process
	origin                 string
	conn                   net.Conn
}

// NewSyslog returns a sender to tcp+tls://HOST:PORT, tcp://HOST:PORT or udp://HOST:PORT.
func NewSyslog(target *url.URL, dial Dial, secure *tls.Config, version string) *Syslog {
	name, _ := os.Hostname()
	s := &Syslog{network: "tcp", address: target.Host, host: target.Hostname(), dial: dial}
	switch target.Scheme {
	case "udp":
		s.network = "udp"
	case "tcp+tls":
		s.tls = secure.Clone()
		s.tls.ServerName = s.host
	}
	s.header = headerWord(name, 255) + " sallyport " + strconv.Itoa(os.Getpid())
	s.origin = `origin software="sallyport" swVersion="` + paramValue.Replace(version) + `"`
	return s
}

// paramValue escapes a value of structured data (RFC 5424, section 6.3.3).
var paramValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `]`, `\]`)

// headerWord returns a text as a field of a header: printable ASCII, or - for nothing.
func headerWord(text string, most int) string {
	word := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
	return cmp.Or(word[:min(len(word), most)], "-")
}

// composeMessage returns a line as a message without its frame.
func (s *Syslog) composeMessage(l *siem.Line) string {
	const informational, notice, warning = 6, 5, 4
	severity := map[int]int{1: informational, 2: notice, 3: warning}[l.Severity]
	// The number of the record, as far as the protocol has room for it.
	sequence := (l.Event.Seq-1)%maxSequence + 1
	return fmt.Sprintf("<%d>1 %s %s %s [%s][meta sequenceId=\"%d\"] %s", facilityAudit*8+severity,
		l.Event.Time.UTC().Format("2006-01-02T15:04:05.000000Z"), s.header, headerWord(string(l.Event.Kind), 32), s.origin, sequence, l.Text)
}

// Send implements [Sender].
func (s *Syslog) Send(ctx context.Context, lines []siem.Line) (refused int, err error) {
	if s.conn == nil {
		if err := s.connectToCollector(ctx); err != nil {
			return 0, err
		}
	}
	conn := s.conn
	if err := conn.SetWriteDeadline(time.Now().Add(sendWait)); err != nil {
		return 0, s.endAfterError(err)
	}
	// A collector that takes nothing must not hold up the end of the program.
	defer context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Unix(1, 0)) })()
	var b strings.Builder
	for i := range lines {
		text := s.composeMessage(&lines[i])
		if s.network == "udp" {
			if len(text) > maxDatagram {
				refused++
			} else if _, err := s.conn.Write([]byte(text)); err != nil {
				return 0, s.endAfterError(err)
			}
			continue
		}
		b.WriteString(strconv.Itoa(len(text)) + " " + text)
	}
	if b.Len() > 0 {
		if _, err := s.conn.Write([]byte(b.String())); err != nil {
			return 0, s.endAfterError(err)
		}
	}
	return refused, nil
}

func (s *Syslog) connectToCollector(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendWait)
	defer cancel()
	conn, err := s.dial(ctx, s.network, s.address)
	if err != nil {
		return err
	}
	if s.tls != nil {
		secure := tls.Client(conn, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			return errors.Join(err, conn.Close())
		}
		conn = secure
	}
	s.conn = conn
	return nil
}

// Confirm implements [Sender].
func (s *Syslog) Confirm(_ context.Context, last bool) error {
	if s.conn == nil {
		return errors.New("the collector ended the connection")
	}
	if s.network == "udp" {
		return nil // nothing is ever known
	}
	wait := confirmWait
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok && last {
		if err := half.CloseWrite(); err != nil {
			return s.endAfterError(err)
		}
		wait = endWait
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return s.endAfterError(err)
	}
	_, err := s.conn.Read(make([]byte, 512))
	ended := err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
	if last {
		// A collector that has read everything ends its side, too.
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, io.EOF) {
			return nil
		}
		return s.endAfterError(err)
	}
	if ended {
		return s.endAfterError(fmt.Errorf("the collector ended the connection: %w", err))
	}
	return nil
}

// endAfterError ends the connection because of an error, and returns it.
func (s *Syslog) endAfterError(err error) error {
	s.Close()
	return err
}

// Close implements [Sender].
func (s *Syslog) Close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

var _ Sender = (*Syslog)(nil)
