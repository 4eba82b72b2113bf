package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/recallstore"
	"github.com/sallyport/sallyport/store"
)

const (
	// memorySuffix ends the name of the file of notes, beside that of the state.
	memorySuffix = "-memory"
	// callsSuffix ends that of the index of the calls.
	callsSuffix = memorySuffix + "-calls"
)

// agentState is the state as tools get at it: their stores, the notes of agents, and what
// the record has of their calls.
type agentState struct {
	store.State
	notes *recallstore.Store
	calls *recallstore.CallIndex
}

// newAgentState returns the state for tools. The notes and the index of a state in memory
// are there, too.
func newAgentState(s store.State, path string) *agentState {
	notes, calls := "", ""
	if path != "" {
		notes, calls = path+memorySuffix, path+callsSuffix
	}
	return &agentState{s, recallstore.New(notes, nil), recallstore.NewCallIndex(calls, s, nil)}
}

// closeMemory closes what is beside the state.
func (a *agentState) closeMemory() error { return errors.Join(a.calls.Close(), a.notes.Close()) }

// MaxValueBytes returns the bound of the state on values, 0 for the usual one.
func (a *agentState) MaxValueBytes() int64 {
	if l, ok := a.State.(interface{ MaxValueBytes() int64 }); ok {
		return l.MaxValueBytes()
	}
	return 0
}

// ForgetNotes removes the notes that a principal kept, and returns how many there were.
func (rt *Runtime) ForgetNotes(ctx context.Context, principal string) (int, error) {
	return rt.agents.notes.ForgetAuthor(ctx, principal)
}

// PruneRecord removes the records that are older than a time, leaves a checkpoint, and
// removes what the index of the calls has of them. It returns how many records there were.
func (rt *Runtime) PruneRecord(ctx context.Context, key audit.Key, before time.Time) (int64, error) {
	n, err := audit.Prune(ctx, rt.State, key, before)
	if bad := rt.agents.calls.DropPruned(ctx); bad != nil {
		bad = fmt.Errorf("the words of the removed calls are still in %s: remove that file, which the next search makes again: %w", rt.InForce().Config.State.Path+callsSuffix, bad)
		err = errors.Join(err, bad)
	}
	return n, err
}

// Recall implements recall.Backend.
func (a *agentState) Recall() (recall.Store, recall.History) { return a.notes, a.calls }
