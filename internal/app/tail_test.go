package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// record adds an outcome of a tool to the state.
func record(t *testing.T, l *audit.Log, tool string, ok bool) {
	t.Helper()
	e := &audit.Event{Kind: audit.KindOutcome, Time: time.Now(), CallID: "c-" + tool, Tool: output.Plain().Text(tool), Principal: "local", OK: ok}
	if err := l.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}

func TestTailLeavesOutAnsweredQuestionsOfTheGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		state, err := memory.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		key, err := randomKey()
		if err != nil {
			t.Fatal(err)
		}
		log, err := audit.New(state, key, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		rt := newRuntime(nil, &config.Config{
			Servers: []config.Part{{ID: "notes"}, {ID: "own"}}, Actions: []config.Part{{ID: "discover-own"}},
		})
		rt.State = state
		record(t, log, "discover-notes", true)
		record(t, log, "discover-notes", false)
		record(t, log, "discover-own", true)
		record(t, log, "discover-else", true)
		record(t, log, "read_file", true)

		ctx, cancel := context.WithCancel(t.Context())
		var shown []string
		done := make(chan error, 1)
		go func() {
			done <- rt.Tail(ctx, audit.Query{Last: 4}, false, true, func(e *audit.Event) error {
				shown = append(shown, string(e.Tool))
				return nil
			})
		}()
		time.Sleep(time.Second)
		record(t, log, "discover-notes", true)
		record(t, log, "write_file", true)
		time.Sleep(time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		want := []string{"discover-notes", "discover-own", "discover-else", "read_file", "write_file"}
		if diff := cmp.Diff(want, shown); diff != "" {
			t.Error(diff)
		}
		count := 0
		if err := rt.Tail(t.Context(), audit.Query{}, true, false, func(*audit.Event) error { count++; return nil }); err != nil || count != 7 {
			t.Errorf("Tail(all) shows %d records, %v, want 7", count, err)
		}
	})
}
