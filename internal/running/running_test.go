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
	if err := r.Wait(t.Context()); err != nil || len(r.byOwner) != 0 || r.Len() != 0 {
		t.Errorf("after the end %v run of %v, wait() = %v", r.Len(), r.byOwner, err)
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

// TestB9_TheLargestShareMakesRoom: its oldest is cancelled for another owner, and
// none of those who have as few.
func TestB9_TheLargestShareMakesRoom(t *testing.T) {
	r := NewYielding(4, 4)
	var all []context.Context
	begin := func(who string) bool {
		ctx, _, ok := r.Begin(t.Context(), who)
		all = append(all, ctx)
		return ok
	}
	for i, step := range []struct {
		who  string
		want bool
	}{{"a", true}, {"a", true}, {"b", true}, {"c", true}, {"d", true}, {"e", false}, {"a", false}} {
		if got := begin(step.who); got != step.want {
			t.Errorf("step %d: %s finds a place: %v, want %v", i, step.who, got, step.want)
		}
	}
	for i, ctx := range all {
		if cancelled := ctx.Err() != nil; cancelled != (i == 0) {
			t.Errorf("step %d was cancelled: %v, want the oldest of the largest share alone", i, cancelled)
		}
	}
}
