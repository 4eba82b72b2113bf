package setting_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/store/memory"
)

// writes counts what is written to a store.
type writes struct {
	setting.Store
	n int
}

func (w *writes) Swap(ctx context.Context, name, old, value string) (bool, error) {
	w.n++
	return w.Store.Swap(ctx, name, old, value)
}

// lost is a store in which another change always comes first.
type lost struct{ setting.Store }

func (lost) PutIfAbsent(context.Context, string, string) (string, bool, error) { return "", false, nil }

func open(t *testing.T) setting.Store {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state.Settings()
}

func TestNoChangeIsLost(t *testing.T) {
	t.Parallel()
	s := open(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			err := setting.Change(t.Context(), s, "n", func(was string, ok bool) (string, error) {
				n, _ := strconv.Atoi(was)
				return strconv.Itoa(n + 1), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, _, err := s.Get(t.Context(), "n"); got != "50" || err != nil {
		t.Errorf("after 50 changes: %q, %v", got, err)
	}
}

func TestWhatStaysIsNotWritten(t *testing.T) {
	t.Parallel()
	w := &writes{Store: open(t)}
	set := func(value string, fault error) error {
		return setting.Change(t.Context(), w, "n", func(string, bool) (string, error) { return value, fault })
	}
	broken := errors.New("broken")
	if err := errors.Join(set("a", nil), set("a", nil)); err != nil || w.n != 0 {
		t.Errorf("the same value: %v after %d writes", err, w.n)
	}
	if err := set("b", broken); !errors.Is(err, broken) || w.n != 0 {
		t.Errorf("a refused change: %v after %d writes", err, w.n)
	}
	if err := setting.Change(t.Context(), lost{open(t)}, "n", func(string, bool) (string, error) { return "a", nil }); !errors.Is(err, setting.ErrBusy) {
		t.Errorf("a change that always comes second: %v", err)
	}
}

func TestDecodeRefusesWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	var v struct{ A int }
	if err := setting.Decode(`{"A":1}`, &v); err != nil || v.A != 1 {
		t.Errorf("Decode() = %+v, %v", v, err)
	}
	if err := setting.Decode(`{"A":1,"B":2}`, &v); err == nil {
		t.Error("an unknown field is read")
	}
}
