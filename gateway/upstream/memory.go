package upstream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/budget"
)

const (
	// maxHeld bounds the memory for messages of all servers, in bytes. A
	// message counts twice: as received, and as reassembled or decoded.
	maxHeld = 256 << 20
	// freeBytes is the part of each message that is not counted, so that small
	// messages, which are the majority, take no lock. The maximum number of
	// running calls holds about 30 MiB of them.
	freeBytes = 64 << 10
	// maxBatch bounds the messages in one list, which an older generation of
	// the protocol sends.
	maxBatch = 1000
	// maxDecoded bounds the values in a message that the library decodes. It
	// decodes any id, and a list takes many times the memory of its text.
	maxDecoded = 2 * maxValues
	// maxErrorData bounds what an error of a server says beside its text. The
	// gate and the library decode it.
	maxErrorData = 64 << 10
	// maxGreeting bounds the first answer of a server, which is kept with its
	// connection.
	maxGreeting = 1 << 20
	// largeHeld is the amount of held memory from which on unused memory is
	// returned to the system. That happens quietTime after nothing is held any
	// more.
	largeHeld, quietTime = 32 << 20, 2 * time.Second
)

// limitError says which bound a server has reached. Its text is the gate's own.
type limitError struct {
	text string
	// floods says that the server sends without end; idle, that it does so
	// without a call.
	floods, idle bool
}

func (e *limitError) Error() string { return e.text }

var (
	// errTooLong is a message beyond maxMessage.
	errTooLong = &limitError{text: fmt.Sprintf("its answer has more than %d MiB", maxMessage>>20)}
	// errNoRoom is a message that does not fit beside the others.
	errNoRoom = &limitError{text: fmt.Sprintf("its answer is too large beside the others: the gate holds at most %d MiB of MCP servers at once; try again", maxHeld>>20)}
	// errGreeting is a first answer that is too large to be kept with its
	// connection.
	errGreeting = &limitError{text: fmt.Sprintf("its first answer has more than %d KiB", maxGreeting>>10)}
	// errTooMany is a message with more than maxDecoded values.
	errTooMany = &limitError{text: fmt.Sprintf("its answer has more than %d values", maxDecoded)}
	// errBatch is a list of more than maxBatch messages.
	errBatch = &limitError{text: fmt.Sprintf("it sends more than %d messages in one list", maxBatch)}
	// errEncoded is a body in an encoding that was not requested.
	errEncoded = &limitError{text: "its answer is compressed in a way that was not asked for"}
)

// limitOf returns the bound that an error is about.
func limitOf(err error) *limitError {
	e, _ := errors.AsType[*limitError](err)
	return e
}

// messageMemory counts the bytes of messages of all servers.
type messageMemory struct {
	*budget.Budget
	mu    sync.Mutex
	large bool        // much was held since memory was last returned
	quiet *time.Timer // returns the memory when it fires
}

func newMemory() *messageMemory { return &messageMemory{Budget: budget.New(maxHeld)} }

// holdMemory returns a holding for a link. giveWay runs when other messages need the
// room.
func (l *connLink) holdMemory(giveWay func()) *budget.Holding {
	return l.s.m.memory.Hold(l.s.Name, l.key.principal, giveWay)
}

// growHolding extends a holding to a message of size bytes. covered is how much it
// covers already.
func (m *messageMemory) growHolding(h *budget.Holding, covered *int64, size int64) error {
	more := 2*size - *covered
	if size <= freeBytes || more <= 0 {
		return nil
	}
	// It grows in steps, so that a message that arrives in small pieces needs
	// few of them.
	more = max(more, min(*covered, 4<<20), 4*freeBytes)
	if err := h.Grow(more); err != nil {
		return errNoRoom
	}
	*covered += more
	return nil
}

// releaseHolding frees what a holding covers. Some time after the last large holdings
// it returns memory to the system.
func (m *messageMemory) releaseHolding(h *budget.Holding) {
	if h == nil {
		return
	}
	held := m.Held()
	h.Release()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.large = m.large || held >= largeHeld
	if !m.large || m.quiet != nil {
		return
	}
	m.quiet = time.AfterFunc(quietTime, m.giveBack)
}

// giveBack returns unused memory to the system when nothing is held. In a
// process with little activity the runtime would wait for minutes.
func (m *messageMemory) giveBack() {
	idle := m.Held() == 0
	m.mu.Lock()
	m.quiet = nil
	m.large = m.large && !idle
	m.mu.Unlock()
	if idle {
		debug.FreeOSMemory()
	}
}

// callMessages is the work for one call. At its end it frees the memory that its
// messages hold.
type callMessages struct {
	call *sallyport.Call

	mu   sync.Mutex
	over bool
	held []*budget.Holding
}

type callMessagesKey struct{}

// withCall puts a call into the context for the transport of a remote server.
// The returned value owns the memory of the messages of the call.
func withCall(ctx context.Context, c *sallyport.Call) (context.Context, *callMessages) {
	e := &callMessages{call: c}
	return context.WithValue(ctx, callMessagesKey{}, e), e
}

func callMessagesOf(ctx context.Context) *callMessages {
	e, _ := ctx.Value(callMessagesKey{}).(*callMessages)
	return e
}

// callOf returns the call of a context, or nil when there is none.
func callOf(ctx context.Context) *sallyport.Call {
	if e := callMessagesOf(ctx); e != nil {
		return e.call
	}
	return nil
}

// addHolding keeps a holding until the end of the call.
func (e *callMessages) addHolding(m *messageMemory, h *budget.Holding) {
	if h == nil {
		return
	}
	if e != nil {
		h.Pin()
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.over {
			e.held = append(e.held, h)
			return
		}
	}
	m.releaseHolding(h)
}

func (e *callMessages) releaseAll(m *messageMemory) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, h := range e.held {
		m.releaseHolding(h)
	}
	e.held = nil
}
