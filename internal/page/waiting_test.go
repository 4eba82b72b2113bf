package page_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// watchedState notes what is asked of the record.
type watchedState struct {
	store.State
	mu    sync.Mutex
	asked []audit.Query
}

func (s *watchedState) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	return s.State.Read(ctx, q)
}

// countAsked returns how often all records of a principal were asked for, and how often what
// was added, and forgets it.
func (s *watchedState) countAsked(principal string) (all, added int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.asked {
		if q.Principal == principal && q.After == 0 {
			all++
		} else if q.Principal == principal {
			added++
		}
	}
	s.asked = nil
	return all, added
}

// TestThePageReadsTheRecordOnceForAllHeldCalls of a principal, however many wait.
func TestThePageReadsTheRecordOnceForAllHeldCalls(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	state := &watchedState{State: s.rt.State}
	s.rt.State = state
	v := s.signIn(t, "alice", false)
	s.call(t, "bob", "s1", "read_file", `{"path":"README.md"}`)
	const calls = 12
	for i := range calls {
		s.hold(t, "bob", fmt.Sprintf(`{"path":"%d.txt","content":"x"}`, i))
	}
	state.countAsked("bob")
	_, body := v.get("/")
	if n := strings.Count(body, "What led here:"); n != calls {
		t.Errorf("the page says of %d calls what led to them, want %d", n, calls)
	}
	// Once for what led to them, and once for what is new about them.
	if all, added := state.countAsked("bob"); all != 2 || added != calls-1 {
		t.Errorf("the first page asks %d times for all records and %d times for what was added, want 2 and %d", all, added, calls-1)
	}
}
