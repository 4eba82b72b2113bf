package running

import (
	"context"
	"testing"
)

func TestASetIsBoundedForAllAndForEach(t *testing.T) {
	r := New(3, 2)
	var ends []func()
	enter := func(who string) bool {
		_, done, ok := r.Begin(t.Context(), who)
		ends = append(ends, done)
		return ok
	}
	for i, step := range []struct {
		who  string
		want bool
	}{{"a", true}, {"a", true}, {"a", false}, {"b", true}, {"c", false}} {
		if got := enter(step.who); got != step.want {
			t.Errorf("step %d: %s enters = %v, want %v", i, step.who, got, step.want)
		}
	}
	for _, end := range ends {
		end()
	}
	if err := r.Wait(t.Context()); err != nil || len(r.whose) != 0 || r.Len() != 0 {
		t.Errorf("after the end %v run of %v, wait() = %v", r.Len(), r.whose, err)
	}
	if !enter("a") {
		t.Error("a does not enter after the end")
	}
	r.Stop()
	ctx, done, ok := r.Begin(context.Background(), "b")
	defer done()
	if !ok || ctx.Err() == nil || !r.Stopped() {
		t.Error("one after the stop is not cancelled from its start")
	}
}

// TestB9_ThereIsAPlaceForANewcomer however many the others have, in the order in
// which they come.
func TestB9_ThereIsAPlaceForANewcomer(t *testing.T) {
	r := New(100, 80)
	for _, who := range []string{"a", "b", "c", "d", "e", "f"} {
		n := 0
		for ; n < 100; n++ {
			if _, _, ok := r.Begin(t.Context(), who); !ok {
				break
			}
		}
		if n == 0 {
			t.Errorf("%s finds no place among %d", who, r.Len())
		}
	}
}
