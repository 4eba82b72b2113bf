package facts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

// refusing is a store that takes nothing while it has an error.
type refusing struct {
	*Memory
	err   error
	asked int
}

func (r *refusing) Note(ctx context.Context, name, session string, marks []sallyport.FactMark) ([]sallyport.FactMark, error) {
	if r.asked++; r.err != nil {
		return nil, r.err
	}
	return r.Memory.Note(ctx, name, session, marks)
}

// TestUnstoredMarksMoveWhenTheStoreTakesThem tries the store once a second, and loses no
// mark that comes in between.
func TestUnstoredMarksMoveWhenTheStoreTakesThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var u Unstored
		store := &refusing{Memory: NewMemory(), err: errors.New("full")}
		mark := func(id string) []sallyport.FactMark {
			return []sallyport.FactMark{{Fact: sallyport.FactPrivate, CallID: id, Time: time.Now()}}
		}
		is := func(when string, unstored, stored int) {
			t.Helper()
			kept, err := store.Facts(t.Context(), "p", "s")
			if got := u.Facts("p", "s"); len(got) != unstored || len(kept) != stored || err != nil {
				t.Errorf("%s: %d unstored and %d stored marks, %v; want %d and %d", when, len(got), len(kept), err, unstored, stored)
			}
		}
		is("at first", 0, 0)
		for _, session := range []string{"s", ""} {
			if err := u.Note("p", session, mark(session)); err != nil {
				t.Fatal(err)
			}
		}
		u.Move(t.Context(), store) // the store has just failed
		is("at once", 2, 0)
		time.Sleep(movePause)
		u.Move(t.Context(), store)
		u.Move(t.Context(), store)
		if is("while the store fails", 2, 0); store.asked != 1 {
			t.Errorf("a store that fails was asked %d times in a second", store.asked)
		}
		store.err = nil
		u.MoveAll(t.Context(), store)
		is("at the end", 0, 2)
		if u.held.Load() {
			t.Error("nothing is left, and is looked for")
		}
		// A mark that came while an older one was being moved stays.
		if err := u.Note("p", "s", mark("old")); err != nil {
			t.Fatal(err)
		}
		moved := u.listMarks()
		time.Sleep(time.Millisecond)
		if err := u.Note("p", "s", mark("new")); err != nil {
			t.Fatal(err)
		}
		for i := range moved {
			u.removeMarks(&moved[i])
		}
		if got := u.Facts("p", "s"); len(got) != 2 || got[0].CallID != "new" || got[1].CallID != "new" {
			t.Errorf("after a newer mark: %+v", got)
		}
	})
}
