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
	// maxHeld bounds the bytes of messages of all servers that are in memory at
	// once. A message counts twice: as it came, and as it is put together or
	// decoded.
	maxHeld = 256 << 20
	// freeBytes of a message are not counted: with them the small messages that
	// most are cost no lock. As many calls as can run hold about 30 MiB of them.
	freeBytes = 64 << 10
	// maxGreeting bounds the first answer of a server, which is kept with its
	// connection.
	maxGreeting = 1 << 20
	// largeHeld is from when on memory is given back to the system when nothing
	// is held any more, after quietTime.
	largeHeld, quietTime = 32 << 20, 2 * time.Second
)

// limitError is a bound that a server has reached. Its text is the gate's own.
type limitError struct {
	text string
	// floods says that the server sends without end, idle that nobody called it.
	floods, idle bool
}

func (e *limitError) Error() string { return e.text }

var (
	// errTooLong is a message beyond maxMessage.
	errTooLong = &limitError{text: fmt.Sprintf("its answer has more than %d MiB", maxMessage>>20)}
	// errNoRoom is a message for which there is no room beside the others.
	errNoRoom = &limitError{text: fmt.Sprintf("its answer is too large beside the others: the gate holds at most %d MiB of MCP servers at once; try again", maxHeld>>20)}
	// errGreeting is a first answer that would be kept for as long as the
	// connection.
	errGreeting = &limitError{text: fmt.Sprintf("its first answer has more than %d KiB", maxGreeting>>10)}
	// errEncoded is a body in an encoding that nobody asked for.
	errEncoded = &limitError{text: "its answer is compressed in a way that was not asked for"}
)

// limitOf finds the bound that an error is about.
func limitOf(err error) *limitError {
	e, _ := errors.AsType[*limitError](err)
	return e
}

// memory is the bytes of messages of all servers.
type memory struct {
	*budget.Budget
	mu    sync.Mutex
	large bool        // much was held since memory was given back
	quiet *time.Timer // that gives it back
}

func newMemory() *memory { return &memory{Budget: budget.New(maxHeld)} }

// hold returns a holding of a link, which gives way when others need the room.
func (l *link) hold(giveWay func()) *budget.Holding {
	return l.s.m.memory.Hold(l.s.Name, l.key.principal, giveWay)
}

// grow has a holding cover a message of so many bytes, of which it covers some.
func (m *memory) grow(h *budget.Holding, covered *int64, size int64) error {
	more := 2*size - *covered
	if size <= freeBytes || more <= 0 {
		return nil
	}
	// In steps, so that a message that comes in small pieces costs few of them.
	more = max(more, min(*covered, 4<<20), 4*freeBytes)
	if err := h.Grow(more); err != nil {
		return errNoRoom
	}
	*covered += more
	return nil
}

// release gives back what a holding covers, and the memory to the system some
// time after the last large ones.
func (m *memory) release(h *budget.Holding) {
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

// giveBack gives unused memory to the system when nothing is held: the runtime
// would wait for minutes in a process in which little happens.
func (m *memory) giveBack() {
	idle := m.Held() == 0
	m.mu.Lock()
	m.quiet = nil
	m.large = m.large && !idle
	m.mu.Unlock()
	if idle {
		debug.FreeOSMemory()
	}
}

// errand is what is done for one call: what it holds of messages is given back
// at its end.
type errand struct {
	call *sallyport.Call

	mu   sync.Mutex
	over bool
	held []*budget.Holding
}

type errandKey struct{}

// withCall makes a call known to the transport of a remote server, and what it
// holds to the errand that is returned.
func withCall(ctx context.Context, c *sallyport.Call) (context.Context, *errand) {
	e := &errand{call: c}
	return context.WithValue(ctx, errandKey{}, e), e
}

func errandOf(ctx context.Context) *errand {
	e, _ := ctx.Value(errandKey{}).(*errand)
	return e
}

// callOf is the call of an errand, nil when there is none.
func callOf(ctx context.Context) *sallyport.Call {
	if e := errandOf(ctx); e != nil {
		return e.call
	}
	return nil
}

// take keeps a holding until the end of the errand.
func (e *errand) take(m *memory, h *budget.Holding) {
	if h == nil {
		return
	}
	if e != nil {
		h.Settle()
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.over {
			e.held = append(e.held, h)
			return
		}
	}
	m.release(h)
}

// end gives back what the errand holds.
func (e *errand) end(m *memory) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, h := range e.held {
		m.release(h)
	}
	e.held = nil
}
