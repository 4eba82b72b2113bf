package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

func testReads(t *testing.T, open opener) {
	c := newManualClock()
	db := open(t, Options{Now: c.Now})
	read := func(path, identity string, content byte) sallyport.ReadRecord {
		r := sallyport.ReadRecord{Path: path, Identity: identity, Digest: [32]byte{content}, Time: c.Now()}
		if err := db.Remember(t.Context(), "local/s", r); err != nil {
			t.Fatalf("Remember(%s) = %v", path, err)
		}
		c.advance(time.Second)
		return r
	}
	recall := func(session, path, identity string, want sallyport.ReadRecord, ok bool) {
		t.Helper()
		got, have, err := db.Recall(t.Context(), session, path, identity)
		if err != nil || have != ok {
			t.Fatalf("Recall(%s, %s) = %v, %v, want %v", path, identity, have, err, ok)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Recall(%s, %s), difference (-want +got):\n%s", path, identity, diff)
		}
	}
	none := sallyport.ReadRecord{}
	a := read("/w/a", "1:10", 1)
	b := read("/w/b", "1:11", 2)
	recall("local/s", "/w/a", "1:10", a, true)
	recall("local/s", "/w/a", "", a, true)
	recall("local/s", "/elsewhere", "1:11", b, true)
	recall("local/s", "/w/A", "1:99", none, false)
	recall("other/s", "/w/a", "1:10", none, false)

	// The newest counts, whichever of the two is equal.
	again := read("/w/a", "1:12", 3)
	recall("local/s", "/w/a", "1:10", again, true)
	link := read("/w/link", "1:11", 4)
	recall("local/s", "/w/b", "1:11", link, true)

	// A file that was read again is remembered as it was read last.
	link = read("/w/link", "1:11", 5)
	recall("local/s", "/w/link", "1:11", link, true)
	recall("local/s", "/w/b", "1:11", link, true)

	// An empty identity is equal to none.
	nameless := read("/w/n", "", 5)
	recall("local/s", "/w/n", "", nameless, true)
	recall("local/s", "/w/other", "", none, false)
}

func testReadsBounded(t *testing.T, open opener) {
	c := newManualClock()
	db := open(t, Options{Now: c.Now, Limits: store.Limits{Reads: 10, ReadAge: time.Hour}})
	has := func(session string, i int) bool {
		_, ok, err := db.Recall(t.Context(), session, fmt.Sprint("/w/", i), "")
		if err != nil {
			t.Fatalf("Recall = %v", err)
		}
		return ok
	}
	for _, session := range []string{"a/s", "b/s"} {
		for i := range 25 {
			r := sallyport.ReadRecord{Path: fmt.Sprint("/w/", i), Time: c.Now()}
			if err := db.Remember(t.Context(), session, r); err != nil {
				t.Fatalf("Remember = %v", err)
			}
			c.advance(time.Second)
		}
	}
	for _, session := range []string{"a/s", "b/s"} {
		for i := range 25 {
			if got, want := has(session, i), i >= 15; got != want {
				t.Errorf("%s: Recall(%d) = %v, want %v: the newest 10 stay", session, i, got, want)
			}
		}
	}
	c.advance(time.Hour)
	if has("b/s", 24) {
		t.Error("Recall = true for a record older than its bound")
	}
}

// testReadsKept reads one file again and again among many others.
func testReadsKept(t *testing.T, open opener) {
	c := newManualClock()
	db := open(t, Options{Now: c.Now, Limits: store.Limits{Reads: 64}})
	read := func(path string) {
		if err := db.Remember(t.Context(), "local/s", sallyport.ReadRecord{Path: path, Identity: path, Time: c.Now()}); err != nil {
			t.Fatalf("Remember = %v", err)
		}
		c.advance(time.Second)
	}
	read("/w/again")
	for i := range 300 {
		read(fmt.Sprint("/w/", i))
		if i%20 > 0 {
			continue
		}
		if _, ok, err := db.Recall(t.Context(), "local/s", "/w/again", ""); err != nil || !ok {
			t.Fatalf("Recall = %v, %v for a file that was read 20 reads ago", ok, err)
		}
		read("/w/again")
	}
	if _, ok, err := db.Recall(t.Context(), "local/s", "/w/0", ""); err != nil || ok {
		t.Errorf("Recall = %v, %v for one of the oldest of many reads", ok, err)
	}
}

func testSettings(t *testing.T, open opener) {
	s, ctx := open(t, Options{}).Settings(), t.Context()
	check := func(value string, ok bool) {
		t.Helper()
		got, have, err := s.Get(ctx, "token")
		if got != value || have != ok || err != nil {
			t.Errorf("Get = %q, %v, %v, want %q, %v", got, have, err, value, ok)
		}
	}
	check("", false)
	if swapped, err := s.Swap(ctx, "token", "", "x"); swapped || err != nil {
		t.Errorf("Swap of a missing name = %v, %v, want false", swapped, err)
	}
	if have, stored, err := s.PutIfAbsent(ctx, "token", "one"); have != "" || !stored || err != nil {
		t.Errorf("PutIfAbsent = %q, %v, %v, want stored", have, stored, err)
	}
	if have, stored, err := s.PutIfAbsent(ctx, "token", "two"); have != "one" || stored || err != nil {
		t.Errorf("PutIfAbsent = %q, %v, %v, want the first value", have, stored, err)
	}
	check("one", true)
	if swapped, err := s.Swap(ctx, "token", "two", "x"); swapped || err != nil {
		t.Errorf("Swap(wrong old) = %v, %v, want false", swapped, err)
	}
	if swapped, err := s.Swap(ctx, "token", "one", "two"); !swapped || err != nil {
		t.Errorf("Swap = %v, %v, want true", swapped, err)
	}
	check("two", true)
	if err := s.Put(ctx, "token", "three"); err != nil {
		t.Errorf("Put = %v", err)
	}
	check("three", true)
	for range 2 {
		if err := s.Delete(ctx, "token"); err != nil {
			t.Errorf("Delete = %v", err)
		}
		check("", false)
	}
}

func testSettingsConcurrent(t *testing.T, open opener) {
	s := open(t, Options{}).Settings()
	const callers = 16
	var wg sync.WaitGroup
	winners := make([]bool, callers)
	seen := make([]string, callers)
	for i := range callers {
		wg.Go(func() {
			mine := fmt.Sprint("token", i)
			have, stored, err := s.PutIfAbsent(t.Context(), "token", mine)
			if err != nil {
				t.Errorf("PutIfAbsent = %v", err)
			}
			if stored {
				have = mine
			}
			winners[i], seen[i] = stored, have
		})
	}
	wg.Wait()
	n := 0
	for i := range callers {
		if winners[i] {
			n++
		}
		if seen[i] != seen[0] {
			t.Errorf("caller %d has %q, caller 0 has %q", i, seen[i], seen[0])
		}
	}
	if n != 1 {
		t.Errorf("%d callers stored, want 1", n)
	}
}
