package gateway

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestTurnsAreForAllAndForEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(4)
		ctx, cancel := context.WithCancel(t.Context())
		var ends []func()
		for i, step := range []struct {
			who  string
			free bool
		}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", true}, {"b", false}, {"d", false}} {
			got := make(chan error, 1)
			go func() {
				release, err := turns.take(ctx, step.who)
				if err == nil {
					ends = append(ends, release)
				}
				got <- err
			}()
			synctest.Wait()
			if (len(got) == 1) != step.free {
				t.Errorf("step %d: a message of %s has its turn: %v, want %v", i, step.who, len(got) == 1, step.free)
			}
		}
		cancel() // those that wait
		synctest.Wait()
		for _, end := range ends {
			end()
		}
		if len(ends) != 4 || len(turns.own) != 0 || len(turns.all) != 0 {
			t.Errorf("after %d turns %d principals and %d messages are known, want 4 and none", len(ends), len(turns.own), len(turns.all))
		}
	})
}
