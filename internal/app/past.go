package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/known"
	"github.com/sallyport/sallyport/store"
)

// pastState is the state whose calls are decided again, and the time of the call at hand.
type pastState struct {
	store.State
	now   time.Time
	kept  sallyport.KV         // of tasks
	tasks *conversation.Memory // of kept, up to the last look
	// growth is what sets grew by, up to the last look.
	growth *known.Growth
}

// lookAgain forgets what was read of the state, so that what was changed since counts.
func (p *pastState) lookAgain() {
	p.growth, p.tasks = known.NewGrowth(p.Settings(), nil), conversation.New(p.kept)
}

// clock returns the clock of the past, nil for that of the present.
func (p *pastState) clock() func() time.Time {
	if p == nil {
		return nil
	}
	return func() time.Time { return p.now }
}

// openPast opens the state with the record, and a state that ends with the command for
// everything else.
func (rt *Runtime) openPast(ctx context.Context) error {
	s := rt.InForce().Config.State
	if inForce, builtin, err := LoadConfig(rt.Env, nil); err != nil {
		return fmt.Errorf("the configuration in force, whose record is replayed: %w", err)
	} else if !builtin {
		s = inForce.State
	}
	return rt.openPastOf(ctx, s)
}

// openPastOf is openPast for the record of a state.
func (rt *Runtime) openPastOf(ctx context.Context, s config.State) error {
	if s.Kind == config.StateMemory {
		return errors.New("the state is in memory, so that there is no record to replay")
	}
	if lacksState(s.Path) {
		return fmt.Errorf("no record yet: %s does not exist", s.Path)
	}
	state, err := openState(ctx, s, nil)
	if err != nil {
		return err
	}
	rt.closers = append(rt.closers, state.Close)
	return rt.usePast(ctx, state)
}

// usePast takes the record and the principals of a state, which stays the caller's, and
// for everything else a state that ends with the runtime.
func (rt *Runtime) usePast(ctx context.Context, state store.State) error {
	tasks, err := state.KV(ctx, taskScope)
	if err != nil {
		return err
	}
	if err := rt.openMemory(ctx); err != nil {
		return err
	}
	rt.past = &pastState{State: state, kept: tasks, tasks: conversation.New(tasks)}
	rt.Access, rt.trusted = state, state.Settings()
	return nil
}
