package app

import (
	"context"
	"strings"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/recall"
	"github.com/sallyport/sallyport/internal/recallstore"
	"github.com/sallyport/sallyport/store"
)

const (
	// memorySuffix ends the name of the file of notes, beside that of the state.
	memorySuffix = "-memory"
	// searchedRecords is how many of the newest records of a principal a search looks at:
	// two for each call.
	searchedRecords = 8000
)

// agentState is the state as tools get at it: their stores, the notes of agents, and what
// the record has of their calls.
type agentState struct {
	store.State
	notes *recallstore.Store
}

// newAgentState returns the state for tools. The notes of a state in memory are there, too.
func newAgentState(s store.State, path string) *agentState {
	if path != "" {
		path += memorySuffix
	}
	return &agentState{s, recallstore.New(path, nil)}
}

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

// Recall implements recall.Backend.
func (a *agentState) Recall() (recall.Store, recall.History) { return a.notes, a }

// Calls implements recall.History: it reads the newest records of the principal and
// returns the calls in the role that have all words.
func (a *agentState) Calls(ctx context.Context, q recall.CallQuery) (calls recall.Calls, err error) {
	words := strings.Fields(strings.ToLower(q.Words))
	var found []recall.PastCall
	seen, oldest := 0, int64(0)
	for rec, err := range a.Read(ctx, audit.Query{Principal: q.Principal, Since: q.Since, Last: searchedRecords}) {
		if err != nil {
			return calls, err
		}
		if seen++; oldest == 0 || rec.Time < oldest {
			oldest = rec.Time
		}
		if rec.Kind != audit.KindOutcome {
			continue
		}
		e, err := rec.Event()
		if err != nil {
			return calls, err
		}
		if p, ok := matchCall(&e, &q, words); ok {
			found = append(found, p)
		}
	}
	for i := len(found) - 1; i >= 0 && len(calls.List) < q.Most; i-- {
		calls.List = append(calls.List, found[i])
	}
	if seen == searchedRecords {
		calls.Back = time.Unix(0, oldest)
	}
	return calls, nil
}

// matchCall returns what the record has of a call that is selected.
func matchCall(e *audit.Event, q *recall.CallQuery, words []string) (p recall.PastCall, ok bool) {
	if string(e.Personality) != q.Role || q.Session != "" && string(e.Session) != q.Session || e.Principal != q.Principal {
		return p, false
	}
	p = recall.PastCall{
		ID: e.CallID, Session: string(e.Session), Tool: string(e.Tool), Args: string(e.Args), Said: string(e.Full), OK: e.OK, Time: e.Time,
	}
	if !e.OK {
		p.Said = string(e.Error)
	}
	all := strings.ToLower(p.Tool + "\n" + p.Args + "\n" + p.Said)
	for _, w := range words {
		if !strings.Contains(all, w) {
			return p, false
		}
	}
	return p, true
}
