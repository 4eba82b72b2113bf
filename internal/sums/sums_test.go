package sums_test

import (
	"context"
	"errors"
	"math/big"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/setting"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/store/memory"
)

func TestABoundHoldsOverItsWindow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	state := openState(t)
	b := sums.New(state.Settings(), func() time.Time { return now })
	add := func(amount string) bool {
		t.Helper()
		a, _ := new(big.Rat).SetString(amount)
		added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}}, a, big.NewRat(3, 10))
		if err != nil {
			t.Fatal(err)
		}
		return added
	}
	if !add("0.1") || !add("0.2") {
		t.Error("0.1 and 0.2 exceed 0.3")
	}
	if add("0.0000001") {
		t.Error("more than the bound was admitted")
	}
	now = now.Add(59 * time.Minute)
	if add("0.1") {
		t.Error("an amount stopped counting within its window")
	}
	now = now.Add(-24 * time.Hour) // the clock was set back
	if add("0.1") {
		t.Error("amounts stopped counting when the clock was set back")
	}
	now = now.Add(25*time.Hour + time.Minute)
	if !add("0.3") {
		t.Error("amounts still count after their window")
	}
	if total, err := b.Total(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}}); err != nil || total.Cmp(big.NewRat(3, 10)) != 0 {
		t.Errorf("Total() = %v, %v", total, err)
	}
	if total, err := b.Total(t.Context(), sums.Key{Bound: sums.Bound{Key: "other", Window: time.Hour}}); err != nil || total.Sign() != 0 {
		t.Errorf("Total(other) = %v, %v", total, err)
	}
}

// Values for which a bound counts alone share one setting, which is bounded.
func TestOneBoundIsOneSetting(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	settings := &named{Store: openState(t).Settings(), names: map[string]bool{}}
	b := sums.New(settings, func() time.Time { return now })
	full := 0
	for i := range 1100 {
		added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}, By: strconv.Itoa(i)}, big.NewRat(1, 1), big.NewRat(1, 1))
		switch {
		case errors.Is(err, sums.ErrFull) && !added:
			full++
		case err != nil || !added:
			t.Fatalf("Add(%d) = %v, %v", i, added, err)
		}
	}
	if full != 100 || len(settings.names) != 1 {
		t.Errorf("%d amounts did not fit, in %d settings; want 100 and one", full, len(settings.names))
	}
	if added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}, By: "7"}, big.NewRat(1, 1), big.NewRat(1, 1)); added || err != nil {
		t.Errorf("a value that is used up = %v, %v", added, err)
	}
	now = now.Add(30 * time.Minute)
	if added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}, By: "7"}, big.NewRat(1, 1), big.NewRat(2, 1)); !added || err != nil {
		t.Errorf("more for a value that is there = %v, %v", added, err)
	}
	now = now.Add(time.Hour + time.Minute)
	if added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}, By: "new"}, big.NewRat(1, 1), big.NewRat(1, 1)); !added || err != nil {
		t.Errorf("after the window = %v, %v", added, err)
	}
}

// named tells which settings are written.
type named struct {
	setting.Store
	names map[string]bool
}

func (n *named) PutIfAbsent(ctx context.Context, name, value string) (string, bool, error) {
	n.names[name] = true
	return n.Store.PutIfAbsent(ctx, name, value)
}

// Several processes, each with a book of its own, never admit more than the bound.
func TestABoundIsExactForCallsAtOnce(t *testing.T) {
	t.Parallel()
	state := openState(t)
	var admitted atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		b := sums.New(state.Settings(), nil)
		for range 25 {
			wg.Go(func() {
				if added, err := b.Add(t.Context(), sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}}, big.NewRat(1, 1), big.NewRat(40, 1)); err != nil {
					t.Error(err)
				} else if added {
					admitted.Add(1)
				}
			})
		}
	}
	wg.Wait()
	if n := admitted.Load(); n != 40 {
		t.Errorf("%d of 100 were admitted, want 40", n)
	}
}

func openState(t *testing.T) *memory.Store {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state
}
