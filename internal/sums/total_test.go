package sums_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/sums"
)

// What was read of a sum before changes nothing of what counts now: another process adds,
// amounts leave the window, and the clock goes back.
func TestATotalIsThatOfTheState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	state := openState(t)
	kept, other := sums.New(state.Settings(), clock), sums.New(state.Settings(), clock)
	random := rand.New(rand.NewPCG(1, 2))
	key := func() sums.Key {
		return sums.Key{Bound: sums.Bound{Key: fmt.Sprint("b", random.IntN(2)), Window: time.Hour}, By: []string{"", "ann", "ben"}[random.IntN(3)]}
	}
	type added struct {
		key    sums.Key
		at     time.Time
		amount *big.Rat
	}
	var all []added
	bounds := []*big.Rat{big.NewRat(2, 1), big.NewRat(3, 1)}
	counts := func(a added) bool { return a.at.After(now.Add(-time.Hour)) }
	for i := range 500 {
		switch random.IntN(4) {
		case 0:
			now = now.Add(time.Duration(random.IntN(40)-10) * time.Minute)
		case 1:
			by := []*sums.Book{kept, other}[random.IntN(2)]
			a := added{key(), now, big.NewRat(int64(random.IntN(9)), 10)}
			if _, err := by.Add(t.Context(), a.key, a.amount, nil); err != nil {
				t.Fatal(err)
			}
			// What left the window is forgotten where something is added.
			all = append(slices.DeleteFunc(all, func(o added) bool { return o.key.Bound == a.key.Bound && !counts(o) }), a)
		default:
			k := key()
			got, err := kept.Total(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			want := new(big.Rat)
			for _, a := range all {
				if a.key == k && counts(a) {
					want.Add(want, a.amount)
				}
			}
			if got.Cmp(want) != 0 {
				t.Fatalf("step %d: Total(%v) = %v, want %v", i, k, got, want)
			}
			got.Add(got, big.NewRat(7, 1)) // the caller may change what it got
			bound, amount := bounds[random.IntN(2)], big.NewRat(int64(random.IntN(20)), 10)
			if fits, err := kept.Fits(t.Context(), k, amount, bound); err != nil || fits != (want.Add(want, amount).Cmp(bound) <= 0) {
				t.Fatalf("step %d: Fits(%v, %v, %v) = %v, %v; the sum would be %v", i, k, amount, bound, fits, err, want)
			}
		}
	}
}
