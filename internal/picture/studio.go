package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/semaphore"
)

// maxMemory bounds what all pictures that are drawn at once may take, in bytes.
const maxMemory = 256 << 20

// shared is the room of this process: memory is one for all gates in it.
var shared = newStudio(maxMemory)

// studio is the room in which pictures are drawn.
type studio struct {
	memory *semaphore.Weighted

	mu    sync.Mutex
	seats map[string]*seat
}

// seat is the one place of a principal.
type seat struct {
	taken   chan struct{}
	waiting int // how many have the seat or wait for it
}

func newStudio(memory int64) *studio {
	return &studio{memory: semaphore.NewWeighted(memory), seats: map[string]*seat{}}
}

// enterRoom waits for the seat of the principal, and then for memory. The caller
// calls leave.
func (s *studio) enterRoom(ctx context.Context, principal string, cost int64) (leave func(), err error) {
	own := s.reserveSeat(principal)
	select {
	case own.taken <- struct{}{}:
	case <-ctx.Done():
		s.giveSeatUp(principal)
		return nil, ctx.Err()
	}
	if err := s.memory.Acquire(ctx, cost); err != nil {
		<-own.taken
		s.giveSeatUp(principal)
		return nil, err
	}
	return func() {
		s.memory.Release(cost)
		<-own.taken
		s.giveSeatUp(principal)
	}, nil
}

func (s *studio) reserveSeat(principal string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.seats[principal]
	if own == nil {
		own = &seat{taken: make(chan struct{}, 1)}
		s.seats[principal] = own
	}
	own.waiting++
	return own
}

// giveSeatUp forgets a seat that is not wanted any more.
func (s *studio) giveSeatUp(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.seats[principal]; own.waiting > 1 {
		own.waiting--
	} else {
		delete(s.seats, principal)
	}
}

// boundReader stops a decoder when the context ends: decoders take none.
type boundReader struct {
	ctx context.Context
	r   io.Reader
}

func (b *boundReader) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.r.Read(p)
}

// boundWriter stops an encoder when the context ends or it writes too much.
type boundWriter struct {
	ctx  context.Context
	text bytes.Buffer
	most int
	full bool
}

func (b *boundWriter) Write(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	if b.text.Len()+len(p) > b.most {
		b.full = true
		return 0, io.ErrShortWrite
	}
	return b.text.Write(p)
}

// writeFault says why an encoder stopped.
func (b *boundWriter) writeFault() error {
	switch {
	case b.full:
		return fmt.Errorf("drawn again it has more than the %d bytes that are left for the result", b.most)
	case b.ctx.Err() != nil:
		return errLate
	default:
		return errors.New("it cannot be drawn again")
	}
}
