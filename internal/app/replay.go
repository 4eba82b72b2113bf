package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/store"
)

// pastState is the state whose calls are decided again, and the time of the call at hand.
type pastState struct {
	store.State
	now   time.Time
	tasks *conversation.Memory
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
	s := rt.Config.State
	if inForce, builtin, err := LoadConfig(rt.Env, nil); err != nil {
		return fmt.Errorf("the configuration in force, whose record is replayed: %w", err)
	} else if !builtin {
		s = inForce.State
	}
	if s.Kind == config.StateMemory {
		return errors.New("the state is in memory, so that there is no record to replay")
	}
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no record yet: %s does not exist", s.Path)
	}
	state, err := openState(ctx, s, nil)
	if err != nil {
		return err
	}
	rt.closers = append(rt.closers, state.Close)
	tasks, err := state.KV(ctx, taskScope)
	if err != nil {
		return err
	}
	if err := rt.openMemory(ctx); err != nil {
		return err
	}
	rt.past = &pastState{State: state, tasks: conversation.New(tasks)}
	rt.Access, rt.trusted = state, state.Settings()
	return nil
}

