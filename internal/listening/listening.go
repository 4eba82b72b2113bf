// Package listening accepts connections for as long as a listener is open.
//
// A server must not end because a table of the kernel is full for a moment, and
// connections must not take the descriptors that the rest of the process needs.
// Start with [New].
package listening

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options say how a listener bears a shortage. The zero value leaves no
// descriptors free and logs nothing.
type Options struct {
	// Reserve is how many descriptors of the process are left for everything
	// but connections; see [Share]. Accepting waits while fewer are free. 0
	// leaves none.
	Reserve int
	// Logger is told why accepting waits, at most once in Every; nil drops it.
	Logger *slog.Logger
	// Every is how often the same shortage is logged; 0 means a minute.
	Every time.Duration
	// Pause is the longest wait before the next attempt; 0 means a second.
	Pause time.Duration
}

const (
	defaultEvery = time.Minute
	defaultPause = time.Second
	// firstPause is how long the first of several waits is; each is twice as
	// long as the one before.
	firstPause = 5 * time.Millisecond
)

// errReserve is why accepting waits while connections hold all descriptors
// that are theirs.
var errReserve = errors.New("connections hold all descriptors but the reserve")

// Share returns the part 1/n of the descriptors that this process may open, 0
// where the system does not say.
func Share(n int) int { return int(descriptorLimit() / uint64(n)) }

// New returns a listener that fails only when l is closed or cannot accept any
// more. A shortage, of which [Transient] tells, it waits out. nil options mean
// the zero value.
func New(l net.Listener, o *Options) net.Listener {
	p := &patientListener{Listener: l, closed: make(chan struct{})}
	if o != nil {
		p.o = *o
	}
	if p.o.Logger == nil {
		p.o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if p.o.Every <= 0 {
		p.o.Every = defaultEvery
	}
	if p.o.Pause <= 0 {
		p.o.Pause = defaultPause
	}
	return p
}

// Transient reports whether accepting may succeed again later: the peer was gone
// before it was accepted, or a table of the process, the user or the machine is
// full. ENOSPC is the answer where the watches of the user are used up
// (epoll(7): max_user_watches).
func Transient(err error) bool {
	for _, e := range [...]error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS,
		syscall.ECONNABORTED, syscall.ECONNRESET, syscall.EINTR, syscall.EAGAIN, syscall.EPROTO,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// patientListener is a listener that waits until a shortage is over.
type patientListener struct {
	net.Listener
	o Options

	once   sync.Once
	closed chan struct{}

	mu     sync.Mutex
	logged time.Time // when a shortage was logged
}

// Accept waits for the next connection.
func (p *patientListener) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, p.o.Pause) {
		err := p.shortageError()
		if err == nil {
			var c net.Conn
			if c, err = p.Listener.Accept(); err == nil || !Transient(err) {
				return c, err
			}
		}
		p.logShortage(err)
		select {
		case <-p.closed:
			return nil, net.ErrClosed
		case <-time.After(pause):
		}
	}
}

// Close ends Accept.
func (p *patientListener) Close() error {
	p.once.Do(func() { close(p.closed) })
	return p.Listener.Close()
}

// shortageError returns why no connection can be accepted now. The system gives
// the lowest number that is free, which tells how many are not.
func (p *patientListener) shortageError() error {
	if p.o.Reserve <= 0 {
		return nil
	}
	limit := descriptorLimit()
	if limit == 0 {
		return nil
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer f.Close()
	if uint64(f.Fd())+uint64(p.o.Reserve) >= limit {
		return errReserve
	}
	return nil
}

// logShortage says at a bounded rate why accepting waits.
func (p *patientListener) logShortage(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.logged.IsZero() || now.Sub(p.logged) >= p.o.Every {
		p.logged = now
		p.o.Logger.Warn("no connection is accepted for the moment", "address", p.Addr().String(), "error", err)
	}
}
