package gateway

import (
	"context"
	"sync"
)

// turns has long messages wait for each other: so many are in memory at once,
// and half as many of one principal, whose calls may run for long.
type turns struct {
	all  chan struct{}
	each int

	mu  sync.Mutex
	own map[string]*turn
}

// turn is that of one principal.
type turn struct {
	slots chan struct{}
	users int // messages that have a slot or wait for one
}

func newTurns(most int) *turns {
	return &turns{all: make(chan struct{}, most), each: most / 2, own: map[string]*turn{}}
}

// take waits for a message's turn, which ends with release. The error is the
// context's.
func (t *turns) take(ctx context.Context, principal string) (release func(), err error) {
	own := t.enter(principal)
	leave := func() { t.leave(principal, own) }
	select {
	case own.slots <- struct{}{}:
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-own.slots
		leave()
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-own.slots
		leave()
	}, nil
}

func (t *turns) enter(principal string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	own := t.own[principal]
	if own == nil {
		own = &turn{slots: make(chan struct{}, t.each)}
		t.own[principal] = own
	}
	own.users++
	return own
}

// leave forgets a principal that has no message any more.
func (t *turns) leave(principal string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(t.own, principal)
	}
}
