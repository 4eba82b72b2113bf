package shadow_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/replay"
	"github.com/sallyport/sallyport/internal/shadow"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/memory"
)

var (
	allowed = replay.Verdict{Outcome: replay.Allowed}
	refused = replay.Verdict{Outcome: replay.Refused, Code: sallyport.CodePermissionDenied, Why: "too much", Source: "new.yaml:3:1"}
	morning = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
)

func openSettings(t *testing.T) store.Settings {
	t.Helper()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = state.Close() })
	return state.Settings()
}

func TestAFullQueueDropsAndCounts(t *testing.T) {
	t.Parallel()
	q := shadow.NewQueue(2)
	for _, id := range []string{"a", "b", "c"} {
		q.Add(id, "old")
		q.Confirm(id, true)
	}
	if q.Has("c") || !q.Has("a") {
		t.Error("the call that came last is not the one that was dropped")
	}
	if n := q.TakeDropped(); n["old"] != 1 || len(q.TakeDropped()) != 0 {
		t.Errorf("%v calls were dropped, want 1, told once", n)
	}
	if config, ok := q.Take("a"); config != "old" || !ok || q.Has("a") {
		t.Errorf("Take(a) = %q, %v", config, ok)
	}
	q.Add("c", "old")
	if !q.Has("c") {
		t.Error("there is room again, and the call was dropped")
	}
}

// TestACallWithoutARecordIsDropped: there is nothing to judge it by.
func TestACallWithoutARecordIsDropped(t *testing.T) {
	t.Parallel()
	q := shadow.NewQueue(9)
	q.Add("a", "")
	q.Confirm("a", false)
	q.Confirm("a", true) // it is gone
	q.Add("b", "")
	if ids := q.Recorded(); len(ids) > 0 {
		t.Errorf("Recorded() = %q before any outcome was recorded", ids)
	}
	q.Confirm("b", true)
	ids := q.Recorded()
	q.Add("c", "")
	q.Drop(ids)
	if n := q.TakeDropped(); n[""] != 2 || q.Has("b") || !q.Has("c") {
		t.Errorf("%v calls were dropped, want a and b", n)
	}
	q.DropAll()
	if n := q.TakeDropped(); n[""] != 1 || q.Has("c") {
		t.Errorf("%v calls were dropped, want the call that waited", n)
	}
	<-q.Wake()
}

func TestReportsOfServersAddUp(t *testing.T) {
	t.Parallel()
	s := openSettings(t)
	var servers sync.WaitGroup
	for i := range 8 {
		servers.Go(func() {
			r := shadow.Report{Shadow: "new", InForce: "old", File: "/new.yaml", Since: morning, NotReplayable: 1, NotJudged: 2}
			r.NoteSame(morning)
			r.NoteFlip("pay", fmt.Sprint(i), morning.Add(time.Duration(i)*time.Hour), &allowed, &refused)
			if err := shadow.Add(t.Context(), s, &r); err != nil {
				t.Error(err)
			}
		})
	}
	servers.Wait()
	list, err := shadow.Reports(t.Context(), s)
	if err != nil || len(list) != 1 {
		t.Fatalf("Reports() = %+v, %v", list, err)
	}
	r := &list[0]
	if r.Judged() != 16 || r.Flips != 8 || r.NotReplayable != 8 || r.NotJudged != 16 || len(r.Groups) != 1 || !r.Last.Equal(morning.Add(7*time.Hour)) {
		t.Errorf("the report is %+v", r)
	}
	if g := &r.Groups[0]; g.Calls != 8 || !g.First.Equal(morning) || g.CallID != "7" || g.Is != refused || g.Was != allowed {
		t.Errorf("the flips are %+v", g)
	}
}

// TestAReportIsBounded, whatever tools callers name and however long reasons are.
func TestAReportIsBounded(t *testing.T) {
	t.Parallel()
	s := openSettings(t)
	long := refused
	long.Why = strings.Repeat("w", 5000)
	for round := range 3 {
		r := shadow.Report{Shadow: "new", InForce: "old"}
		for i := range 100 {
			r.NoteFlip(strings.Repeat("x", 5000)[i:], "id", morning, &allowed, &long)
			r.NoteFlip(fmt.Sprint("tool", round, i), "id", morning, &allowed, &long)
		}
		if err := shadow.Add(t.Context(), s, &r); err != nil {
			t.Fatal(err)
		}
	}
	text, _, err := s.Get(t.Context(), "shadow")
	if err != nil || len(text) > 80<<10 {
		t.Errorf("the report has %d bytes, %v", len(text), err)
	}
	list, err := shadow.Reports(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	calls := list[0].Others
	for _, g := range list[0].Groups {
		calls += g.Calls
	}
	if list[0].Flips != 600 || calls != 600 {
		t.Errorf("%d flips, %d in groups and beside them, want 600", list[0].Flips, calls)
	}
}

func TestTheNewestReportsAreKept(t *testing.T) {
	t.Parallel()
	s := openSettings(t)
	begin := func(name string, hour int) {
		t.Helper()
		if err := shadow.Add(t.Context(), s, &shadow.Report{Shadow: name, Since: morning.Add(time.Duration(hour) * time.Hour), Updated: morning.Add(time.Duration(hour) * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		begin(fmt.Sprint(i), i)
	}
	begin("0", 8)
	begin("8", 9)
	list, err := shadow.Reports(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range list {
		names = append(names, r.Shadow)
	}
	if want := []string{"2", "3", "4", "5", "6", "7", "0", "8"}; !slices.Equal(names, want) {
		t.Errorf("the reports are of %q, want %q", names, want)
	}
	if !list[6].Since.Equal(morning) {
		t.Errorf("0 is judged since %v, want %v", list[6].Since, morning)
	}
}

func TestWhatIsNoReportIsAnError(t *testing.T) {
	t.Parallel()
	s := openSettings(t)
	for _, text := range []string{"no", `[{"bound":1}]`} {
		if err := s.Put(t.Context(), "shadow", text); err != nil {
			t.Fatal(err)
		}
		if _, err := shadow.Reports(t.Context(), s); err == nil {
			t.Errorf("Reports() takes %s", text)
		}
		if err := shadow.Add(t.Context(), s, &shadow.Report{}); err == nil {
			t.Errorf("Add() writes over %s", text)
		}
	}
}
