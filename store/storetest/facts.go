package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/facts"
)

func testFacts(t *testing.T, open opener) {
	for name, run := range map[string]func(*testing.T, sallyport.FactStore){
		"Note": testFactsNote, "Newest": testFactsNewest, "Apart": testFactsApart, "Forget": testFactsForget,
		"Bounded": testFactsBounded, "Concurrent": testFactsConcurrent, "Cancelled": testFactsCancelled,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t, Options{}).Facts()) })
	}
}

var factTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// factMark is a mark of a call after some minutes.
func factMark(f sallyport.Fact, call string, minutes int) sallyport.FactMark {
	return sallyport.FactMark{Fact: f, Tool: "read\xff'file", CallID: call, Time: factTime.Add(time.Duration(minutes) * time.Minute)}
}

func noteFacts(t testing.TB, s sallyport.FactStore, principal, session string, marks ...sallyport.FactMark) []sallyport.FactMark {
	t.Helper()
	before, err := s.Note(t.Context(), principal, session, marks)
	if err != nil {
		t.Fatalf("Note(%q, %q) = %v", principal, session, err)
	}
	return before
}

// wantFacts compares what is kept, in any order.
func wantFacts(t testing.TB, s sallyport.FactStore, principal, session string, want ...sallyport.FactMark) {
	t.Helper()
	got, err := s.Facts(t.Context(), principal, session)
	if err != nil {
		t.Fatalf("Facts(%q, %q) = %v", principal, session, err)
	}
	diffFacts(t, fmt.Sprintf("Facts(%q, %q)", principal, session), got, want)
}

func diffFacts(t testing.TB, what string, got, want []sallyport.FactMark) {
	t.Helper()
	order := cmpopts.SortSlices(func(a, b sallyport.FactMark) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	if diff := cmp.Diff(want, got, order, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// inSession says of a mark that it is the session's.
func inSession(m sallyport.FactMark) sallyport.FactMark {
	m.Session = true
	return m
}

func testFactsNote(t *testing.T, s sallyport.FactStore) {
	private, untrusted := factMark(sallyport.FactPrivate, "c1", 0), factMark(sallyport.FactUntrusted, "c2", 1)
	wantFacts(t, s, "p", "s")
	diffFacts(t, "before the first Note", noteFacts(t, s, "p", "s", private), nil)
	wantFacts(t, s, "p", "s", private, inSession(private))
	diffFacts(t, "before the second Note", noteFacts(t, s, "p", "s", untrusted), []sallyport.FactMark{private, inSession(private)})
	wantFacts(t, s, "p", "s", private, inSession(private), untrusted, inSession(untrusted))
	wantFacts(t, s, "p", "other", private, untrusted)
	wantFacts(t, s, "p", "", private, untrusted)
	// A call without a session counts for the principal alone.
	again := factMark(sallyport.FactPrivate, "c3", 2)
	noteFacts(t, s, "p", "", again)
	wantFacts(t, s, "p", "", again, untrusted)
	wantFacts(t, s, "p", "s", again, inSession(private), untrusted, inSession(untrusted))
	diffFacts(t, "Note of nothing", noteFacts(t, s, "p", "other"), []sallyport.FactMark{again, untrusted})
}

func testFactsNewest(t *testing.T, s sallyport.FactStore) {
	old, young := factMark(sallyport.FactPrivate, "old", 0), factMark(sallyport.FactPrivate, "young", 5)
	noteFacts(t, s, "p", "s", young)
	noteFacts(t, s, "p", "s", old)
	wantFacts(t, s, "p", "s", young, inSession(young))
}

func testFactsApart(t *testing.T, s sallyport.FactStore) {
	m := factMark(sallyport.FactPrivate, "c", 0)
	noteFacts(t, s, "p", "s", m)
	for _, other := range [][2]string{{"q", "s"}, {"P", "s"}, {"p/s", ""}, {"", "s"}, {"", ""}} {
		wantFacts(t, s, other[0], other[1])
	}
	wantFacts(t, s, "p", "S", m)
	noteFacts(t, s, "p\x00", "s\xff", m)
	wantFacts(t, s, "p\x00", "s\xff", m, inSession(m))
}

func testFactsForget(t *testing.T, s sallyport.FactStore) {
	m := factMark(sallyport.FactPrivate, "c", 0)
	noteFacts(t, s, "p", "s", m)
	noteFacts(t, s, "q", "s", m)
	for _, want := range []bool{true, false} {
		if was, err := s.Forget(t.Context(), "p"); was != want || err != nil {
			t.Errorf("Forget = %v, %v, want %v", was, err, want)
		}
	}
	wantFacts(t, s, "p", "s")
	wantFacts(t, s, "q", "s", m, inSession(m))
}

// testFactsBounded begins more sessions than are kept: the first one goes, and
// the principal's own facts stay.
func testFactsBounded(t *testing.T, s sallyport.FactStore) {
	first := factMark(sallyport.FactPrivate, "first", 0)
	noteFacts(t, s, "q", "0", first)
	for i := range facts.MaxSessions {
		noteFacts(t, s, "p", fmt.Sprint(i), factMark(sallyport.FactPrivate, "c", i))
	}
	last := factMark(sallyport.FactPrivate, "last", facts.MaxSessions)
	own := factMark(sallyport.FactPrivate, "c", facts.MaxSessions-1)
	wantFacts(t, s, "p", "0", own, inSession(factMark(sallyport.FactPrivate, "c", 0)))
	noteFacts(t, s, "p", "new", last)
	wantFacts(t, s, "p", "0", last)
	wantFacts(t, s, "p", "1", last, inSession(factMark(sallyport.FactPrivate, "c", 1)))
	wantFacts(t, s, "q", "0", first, inSession(first))
}

// testFactsConcurrent lets two calls begin at once, again and again: one of
// them sees the other.
func testFactsConcurrent(t *testing.T, s sallyport.FactStore) {
	for round := range 50 {
		var before [2][]sallyport.FactMark
		var wg sync.WaitGroup
		for i, fact := range []sallyport.Fact{sallyport.FactPrivate, sallyport.FactUntrusted} {
			wg.Go(func() {
				var err error
				before[i], err = s.Note(t.Context(), fmt.Sprint(round), "s", []sallyport.FactMark{factMark(fact, "c", 0)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(before[0]) + len(before[1]); n != 2 {
			t.Fatalf("round %d: two calls saw %v and %v, want one of them to see the other", round, before[0], before[1])
		}
	}
}

func testFactsCancelled(t *testing.T, s sallyport.FactStore) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Facts(ctx, "p", "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("Facts = %v, want Canceled", err)
	}
	if _, err := s.Note(ctx, "p", "s", []sallyport.FactMark{factMark(sallyport.FactPrivate, "c", 0)}); !errors.Is(err, context.Canceled) {
		t.Errorf("Note = %v, want Canceled", err)
	}
	if _, err := s.Forget(ctx, "p"); !errors.Is(err, context.Canceled) {
		t.Errorf("Forget = %v, want Canceled", err)
	}
	wantFacts(t, s, "p", "s")
}
