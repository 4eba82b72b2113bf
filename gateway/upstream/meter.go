package upstream

import (
	"fmt"
	"sync"
	"time"
)

// messageRate bounds the unsolicited messages of a server.
type messageRate struct {
	// messages and bytes are per second; messagesAtOnce and bytesAtOnce bound a
	// burst.
	messages, messagesAtOnce float64
	bytes, bytesAtOnce       float64
}

// The rates for a server that is idle and for one that works on a call. They
// are far above what real servers send.
var (
	whileIdle    = messageRate{messages: 50, messagesAtOnce: 2_000, bytes: 256 << 10, bytesAtOnce: 2 * maxMessage}
	whileWorking = messageRate{messages: 2_000, messagesAtOnce: 20_000, bytes: 8 << 20, bytesAtOnce: 8 * maxMessage}
	// idleStderrRate and workStderrRate are of standard error, in bytes.
	idleStderrRate = messageRate{bytes: 64 << 10, bytesAtOnce: 4 << 20}
	workStderrRate = messageRate{bytes: 4 << 20, bytesAtOnce: 64 << 20}
)

var (
	errAsks             = &limitError{floods: true, text: "it asks faster than it reads the answers"}
	errAsksIdle         = &limitError{floods: true, idle: true, text: "it asks faster than it reads the answers while it has no call"}
	errIdleFloods       = &limitError{floods: true, idle: true, text: fmt.Sprintf("it sends without end while it has no call: more than %.0f messages, or %d KiB, a second", whileIdle.messages, int(whileIdle.bytes)>>10)}
	errWorkFloods       = &limitError{floods: true, text: fmt.Sprintf("it sends without end beside its answers: more than %.0f messages, or %d MiB, a second", whileWorking.messages, int(whileWorking.bytes)>>20)}
	errStreamFloods     = &limitError{floods: true, text: fmt.Sprintf("it sends events without end: more than %.0f, or %d MiB, a second", whileWorking.messages, int(whileWorking.bytes)>>20)}
	errIdleStderrFloods = &limitError{floods: true, idle: true, text: fmt.Sprintf("it writes to standard error without end while it has no call: more than %d KiB a second", int(idleStderrRate.bytes)>>10)}
	errWorkStderrFloods = &limitError{floods: true, text: fmt.Sprintf("it writes to standard error without end: more than %d MiB a second", int(workStderrRate.bytes)>>20)}
)

// rateMeter enforces a rate. It is safe for concurrent use.
type rateMeter struct {
	rate messageRate

	mu              sync.Mutex
	messages, bytes float64 // spent and not yet recovered
	last            time.Time
}

// spendBudget counts messages and bytes, and reports whether they are within the
// rate.
func (m *rateMeter) spendBudget(messages, bytes int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	passed := now.Sub(m.last).Seconds()
	m.last = now
	m.messages = max(0, m.messages-passed*m.rate.messages) + float64(messages)
	m.bytes = max(0, m.bytes-passed*m.rate.bytes) + float64(bytes)
	return m.messages <= m.rate.messagesAtOnce && m.bytes <= m.rate.bytesAtOnce
}

// countUnasked counts an unsolicited message of a server on this machine. The error
// ends the connection.
func (l *connLink) countUnasked(bytes int) error {
	flow, limit := &l.idleFlow, errIdleFloods
	if l.hasCalls() {
		flow, limit = &l.workFlow, errWorkFloods
	}
	if flow.spendBudget(1, bytes) {
		return nil
	}
	return limit
}

// countStderr counts what a server on this machine writes to standard error,
// and ends a server that writes without end.
func (l *connLink) countStderr(bytes int) {
	flow, limit := &l.idleStderr, errIdleStderrFloods
	if l.hasCalls() {
		flow, limit = &l.workStderr, errWorkStderrFloods
	}
	if flow.spendBudget(0, bytes) || l.limit.Swap(limit) == limit {
		return
	}
	// In a goroutine: the end of the process waits for its writers, such as
	// this one.
	go l.endFlood(limit)
}

// endFlood ends a connection whose server sends without end.
func (l *connLink) endFlood(limit *limitError) {
	l.limit.Store(limit)
	select {
	case <-l.ready:
	default:
		l.hangUp() // the caller that starts it reports the reason
		return
	}
	if l.err != nil || !l.floods.CompareAndSwap(false, true) {
		return
	}
	l.wire.failPending(limit)
	l.s.pool.recordFlood(l, limit)
	l.hangUp()
	l.s.pool.dropLink(l)
}
