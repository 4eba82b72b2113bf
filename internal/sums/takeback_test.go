package sums_test

import (
	"math/big"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/sums"
)

// What is taken back was never there: what was added with it leaves the window when it
// does, and the sum does not fall below what others added.
func TestWhatIsTakenBackLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := sums.New(openState(t).Settings(), func() time.Time { return now })
	key := sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}, By: "ann"}
	add := func(amount int64) time.Time {
		t.Helper()
		if _, err := b.Add(t.Context(), key, big.NewRat(amount, 1), nil); err != nil {
			t.Fatal(err)
		}
		return now
	}
	back := func(at time.Time, amount int64) {
		t.Helper()
		if err := b.TakeBack(t.Context(), key, at, big.NewRat(amount, 1)); err != nil {
			t.Fatal(err)
		}
	}
	total := func(want int64) {
		t.Helper()
		if got, err := b.Total(t.Context(), key); err != nil || got.Cmp(big.NewRat(want, 1)) != 0 {
			t.Errorf("Total() = %v, %v, want %d", got, err, want)
		}
	}
	first := add(5)
	now = now.Add(10 * time.Minute)
	second := add(3)
	back(first, 4)
	total(4)
	now = now.Add(51 * time.Minute) // the first has left
	total(3)
	back(first, 9) // nothing of that is there
	total(3)
	back(second, 3)
	total(0)
}

func TestTheWaitEndsWhenThereIsRoom(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := sums.New(openState(t).Settings(), func() time.Time { return now })
	key := sums.Key{Bound: sums.Bound{Key: "k", Window: time.Hour}}
	for range 3 {
		if _, err := b.Add(t.Context(), key, big.NewRat(2, 1), nil); err != nil {
			t.Fatal(err)
		}
		now = now.Add(10 * time.Minute)
	}
	for _, tt := range []struct {
		amount int64
		want   time.Duration
	}{{1, 0}, {2, 30 * time.Minute}, {4, 40 * time.Minute}, {7, 50 * time.Minute}, {8, -1}} {
		if got, err := b.Wait(t.Context(), key, big.NewRat(tt.amount, 1), big.NewRat(7, 1)); err != nil || got != tt.want {
			t.Errorf("Wait(%d) = %v, %v, want %v", tt.amount, got, err, tt.want)
		}
	}
}
