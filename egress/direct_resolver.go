package egress

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// maxQuery bounds a question: a name has 255 bytes at most, and what clients
	// add to it is not read.
	maxQuery = 4 << 10
	// nameTTL is how many seconds a client may keep an answer. An address keeps
	// its name for the life of the child; what a name may do is decided when it
	// is connected to.
	nameTTL = 60
	// queriesPerSecond and queryBurst bound how often a child is answered: a
	// program that starts asks for some dozens of names.
	queriesPerSecond = 500
	queryBurst       = 1000
)

// ServeNames answers the questions of DNS that come over UDP, until Close, for
// which it returns nil, or until the connection fails. It closes the connection.
//
// No question leaves: a name that the policy lets through on some port has an
// address that this proxy gives it, of [Proxy.ServeDirect]; for any other there
// is no such name, and Uses lists it as refused. What a granted name has beside
// addresses is not known.
func (p *Proxy) ServeNames(conn net.PacketConn) error {
	defer conn.Close()
	if !p.trackListener(conn) {
		return nil
	}
	defer p.untrackListener(conn)
	buf := make([]byte, maxQuery)
	for {
		n, from, err := conn.ReadFrom(buf)
		switch {
		case p.life.Err() != nil:
			return nil
		case err != nil && n == 0:
			return err
		}
		if answer := p.answerQuestion(buf[:n]); answer != nil {
			_, _ = conn.WriteTo(answer, from) // a child that does not listen gets nothing
		}
		p.queries.awaitTurn(p.life)
	}
}

// ServeNamesTCP answers questions over TCP, as [Proxy.ServeNames] does over UDP.
func (p *Proxy) ServeNamesTCP(l net.Listener) error { return p.acceptFrom(l, p.serveQuestions) }

func (p *Proxy) serveQuestions(ctx context.Context, _ context.CancelFunc, c *childConn, tooMany bool) {
	if tooMany {
		return
	}
	buf := make([]byte, maxQuery)
	for {
		c.boundReading(p.headTimeout)
		var length [2]byte
		if _, err := io.ReadFull(c.r, length[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint16(length[:]))
		if n > maxQuery {
			return
		}
		if _, err := io.ReadFull(c.r, buf[:n]); err != nil {
			return
		}
		answer := p.answerQuestion(buf[:n])
		if answer == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
		p.queries.awaitTurn(ctx)
	}
}

// answerQuestion answers one message; nil is no answer.
func (p *Proxy) answerQuestion(packet []byte) []byte {
	var in dnsmessage.Parser
	h, err := in.Start(packet)
	if err != nil || h.Response {
		return nil
	}
	out := dnsmessage.Message{Header: dnsmessage.Header{
		ID: h.ID, Response: true, OpCode: h.OpCode, Authoritative: true,
		RecursionDesired: h.RecursionDesired, RecursionAvailable: true,
	}}
	questions, err := in.AllQuestions()
	switch {
	case h.OpCode != 0:
		out.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || len(questions) != 1:
		out.RCode = dnsmessage.RCodeFormatError
	default:
		out.Questions = questions
		out.Answers, out.RCode = p.resolveGranted(questions[0])
	}
	answer, err := out.Pack()
	if err != nil {
		return nil
	}
	return answer
}

// resolveGranted answers a question from the grant alone.
func (p *Proxy) resolveGranted(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	name := strings.TrimSuffix(q.Name.String(), ".")
	host, err := reach.CanonicalHost(name)
	if err != nil {
		p.uses.recordMalformed(badHost(name, nil))
		return nil, dnsmessage.RCodeNameError
	}
	if _, literal := parseLiteral(host); literal || q.Class != dnsmessage.ClassINET {
		return nil, dnsmessage.RCodeNameError
	}
	if err := p.policy.DecideName(host); err != nil {
		p.uses.recordOutcome(host, 0, err)
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		return nil, dnsmessage.RCodeSuccess
	}
	number, err := p.names.numberOf(host, p.policy.listsHost(host))
	if err != nil {
		p.uses.recordOutcome(hostMore, 0, sallyport.HostError("a further name", "gets no address: "+err.Error()))
		return nil, dnsmessage.RCodeServerFailure
	}
	v4, v6 := addressesOf(number)
	answer := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: nameTTL}}
	switch {
	case q.Type == dnsmessage.TypeA:
		answer.Body = &dnsmessage.AResource{A: v4.As4()}
	case p.directIPv6.Load():
		answer.Body = &dnsmessage.AAAAResource{AAAA: v6.As16()}
	default:
		return nil, dnsmessage.RCodeSuccess
	}
	return []dnsmessage.Resource{answer}, dnsmessage.RCodeSuccess
}

// GiveIPv6 has the resolver give names addresses of IPv6 too. It is called where
// these exist inside the child, before anything is served.
func (p *Proxy) GiveIPv6() { p.directIPv6.Store(true) }

// queryPace bounds how often the questions of a child are answered. The zero value
// has its whole burst left.
type queryPace struct {
	mu   sync.Mutex
	next time.Time // when the burst is there again
}

// awaitTurn waits until another question may be answered, or until ctx ends.
// What comes in between waits in the kernel, which drops what is too much.
func (q *queryPace) awaitTurn(ctx context.Context) {
	const each = time.Second / queriesPerSecond
	q.mu.Lock()
	now := time.Now()
	if q.next.Before(now) {
		q.next = now
	}
	q.next = q.next.Add(each)
	wait := q.next.Sub(now) - queryBurst*each
	q.mu.Unlock()
	if wait <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
