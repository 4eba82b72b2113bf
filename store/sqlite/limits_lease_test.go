package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/store/sqlite"
)

// leasedWindow is long enough for leases.
const leasedWindow = 10 * time.Second

// admit asks for one admission.
func admit(t testing.TB, db *sqlite.DB, limit sallyport.RateLimit) bool {
	t.Helper()
	wait, err := db.Admit(t.Context(), "k", limit)
	if err != nil || wait < 0 || wait > limit.Window {
		t.Fatalf("Admit = %v, %v", wait, err)
	}
	return wait == 0
}

// playLeases asks in several processes at random times, of which some die, and
// returns the times of all admissions and how many were lost with a process.
func playLeases(t *testing.T, seed uint64, limit sallyport.RateLimit) (admitted []time.Time, lost int) {
	r := rand.New(rand.NewPCG(seed, 2))
	path := filepath.Join(t.TempDir(), "state.db")
	dbs := []*sqlite.DB{open(t, path, nil), open(t, path, nil), open(t, path, nil)}
	pace := 20
	for range 1200 {
		switch r.IntN(50) {
		case 0, 1:
			pace = []int{1, 1, 3, 20, 60}[r.IntN(5)] // busy and quiet times
		case 2:
			lost += dbs[r.IntN(len(dbs))].LoseLeases()
		case 3:
			time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
		default:
			time.Sleep(time.Duration(r.IntN(pace)) * time.Millisecond)
		}
		// The calls of a principal come in turns more often than at random.
		if db := dbs[r.IntN(1+r.IntN(len(dbs)))]; admit(t, db, limit) {
			admitted = append(admitted, time.Now())
		}
	}
	return admitted, lost
}

// TestLeasesNeverExceedALimit: whatever processes lease, hand out, give back and lose
// with their death, no window holds more than the limit.
func TestLeasesNeverExceedALimit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(needs.Count(3, 60)) {
		for _, requests := range []int{3, 60, 200} {
			synctest.Test(t, func(t *testing.T) {
				admitted, lost := playLeases(t, seed, sallyport.RateLimit{Requests: requests, Window: leasedWindow})
				for i := requests; i < len(admitted); i++ {
					if took := admitted[i].Sub(admitted[i-requests]); took < leasedWindow {
						t.Fatalf("seed %d: %d admissions within %v, want %d at most in %v", seed, requests+1, took, requests, leasedWindow)
					}
				}
				if len(admitted) < requests {
					t.Errorf("seed %d: %d admissions of %d", seed, len(admitted), requests)
				}
				t.Logf("%d admissions, %d lost", len(admitted), lost)
			})
		}
	}
}

// TestAWholeLimitCanBeUsed: by one process at once, and by the second when the first
// has leased some of it, and there is nothing left then.
func TestAWholeLimitCanBeUsed(t *testing.T) {
	t.Parallel()
	for _, requests := range []int{1, 5, 60, 1000} {
		for _, first := range []int{0, 1, 4, 47, 1000} {
			if first > requests {
				continue
			}
			t.Run(fmt.Sprint(requests, " ", first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { useWholeLimit(t, requests, first) })
			})
		}
	}
}

func useWholeLimit(t *testing.T, requests, first int) {
	path := filepath.Join(t.TempDir(), "state.db")
	a, b := open(t, path, nil), open(t, path, nil)
	limit := sallyport.RateLimit{Requests: requests, Window: leasedWindow}
	for i := range first {
		if !admit(t, a, limit) {
			t.Fatalf("the first process was refused call %d of %d", i, requests)
		}
	}
	for i := first; i < requests; i++ {
		if !admit(t, b, limit) {
			t.Fatalf("the second process was refused call %d of %d, of which the first made %d", i, requests, first)
		}
	}
	if admit(t, a, limit) || admit(t, b, limit) {
		t.Errorf("more than %d calls were admitted", requests)
	}
	// The times of admissions are late by less than the time of a lease.
	time.Sleep(leasedWindow + sqlite.LeaseTime)
	for i := range requests {
		if !admit(t, b, limit) {
			t.Fatalf("call %d was refused although no call counts any more", i)
		}
	}
}

// TestALostLeaseCountsOnce: what a process had leased when it died counts as used, for
// one window.
func TestALostLeaseCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		a, b := open(t, path, nil), open(t, path, nil)
		limit := sallyport.RateLimit{Requests: 100, Window: leasedWindow}
		n := 0
		for ; n < 10; n++ {
			admit(t, a, limit)
		}
		lost := a.LoseLeases()
		for admit(t, b, limit) {
			n++
		}
		if lost == 0 || n > limit.Requests || n < limit.Requests-lost {
			t.Errorf("%d of %d calls were admitted when %d were lost", n, limit.Requests, lost)
		}
		time.Sleep(leasedWindow + sqlite.LeaseTime)
		for i := range limit.Requests {
			if !admit(t, b, limit) {
				t.Fatalf("call %d was refused although no call counts any more", i)
			}
		}
	})
}

// TestWhatALeaseHandedOutCountsFromThen and not from when it was taken.
func TestWhatALeaseHandedOutCountsFromThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		a, b := open(t, path, nil), open(t, path, nil)
		limit := sallyport.RateLimit{Requests: 200, Window: leasedWindow}
		began := time.Now()
		const early, late = 20, 4
		for range early {
			admit(t, a, limit)
		}
		time.Sleep(30 * time.Millisecond) // the lease is open still
		for range late {
			admit(t, a, limit)
		}
		time.Sleep(sqlite.LeaseTime)
		for admit(t, b, limit) {
		}
		time.Sleep(time.Until(began.Add(leasedWindow)))
		n := 0
		for admit(t, b, limit) {
			if n++; n > early {
				t.Fatalf("more calls are free than the %d that were made a window ago", early)
			}
		}
		if n == 0 {
			t.Error("no call is free")
		}
	})
}

// TestAdmissionsAreOnTheDiskWithTheIntent of a call that waits for the disk, and not
// before.
func TestAdmissionsAreOnTheDiskWithTheIntent(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	l := audittest.NewLog(t, db)
	admit(t, db, sallyport.RateLimit{Requests: 10, Window: time.Hour})
	if db.AdmissionsSettled() {
		t.Fatal("an admission waited for the disk")
	}
	if err := l.Record(t.Context(), &audit.Event{Kind: audit.KindIntent, CallID: "c", Durable: true}); err != nil {
		t.Fatal(err)
	}
	if !db.AdmissionsSettled() {
		t.Error("the intent is on the disk, and the admission of its call is not")
	}
}
