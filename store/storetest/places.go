package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
)

func testPlaces(t *testing.T, open opener) {
	for name, run := range map[string]func(*testing.T, sallyport.PlaceLedger){
		"Keep": testPlacesKeep, "Forget": testPlacesForget, "Bounded": testPlacesBounded,
		"Concurrent": testPlacesConcurrent, "Cancelled": testPlacesCancelled,
	} {
		t.Run(name, func(t *testing.T) { run(t, open(t, Options{})) })
	}
}

// timeAfterDays returns a time after some days.
func timeAfterDays(days int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 7, time.UTC).AddDate(0, 0, days)
}

func recordPlaces(t testing.TB, s sallyport.PlaceLedger, places ...sallyport.WritePlace) {
	t.Helper()
	if err := s.KeepWritePlaces(t.Context(), places); err != nil {
		t.Fatalf("KeepWritePlaces = %v", err)
	}
}

func wantPlaces(t testing.TB, s sallyport.PlaceLedger, want ...sallyport.WritePlace) {
	t.Helper()
	got, err := s.WritePlaces(t.Context())
	if err != nil {
		t.Fatalf("WritePlaces = %v", err)
	}
	for i := range got {
		got[i].First, got[i].Last = got[i].First.UTC(), got[i].Last.UTC()
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("WritePlaces (-want +got)\n%s", d)
	}
}

func testPlacesKeep(t *testing.T, s sallyport.PlaceLedger) {
	wantPlaces(t, s)
	b := sallyport.WritePlace{Path: "/b\xff\n", By: "personality b", First: timeAfterDays(0), Last: timeAfterDays(0)}
	a := sallyport.WritePlace{Path: "/a", By: "personality a", First: timeAfterDays(1), Last: timeAfterDays(1)}
	recordPlaces(t, s, b, a)
	wantPlaces(t, s, a, b)
	again := a
	again.By, again.First, again.Last = "personality c", timeAfterDays(5), timeAfterDays(5)
	recordPlaces(t, s, again)
	again.First = a.First
	wantPlaces(t, s, again, b)
	recordPlaces(t, s)
	wantPlaces(t, s, again, b)
}

func testPlacesForget(t *testing.T, s sallyport.PlaceLedger) {
	a := sallyport.WritePlace{Path: "/a", By: "x", First: timeAfterDays(0), Last: timeAfterDays(0)}
	recordPlaces(t, s, a)
	for _, step := range []struct {
		path string
		want bool
	}{{"/a/b", false}, {"/a", true}, {"/a", false}} {
		if found, err := s.ForgetWritePlace(t.Context(), step.path); err != nil || found != step.want {
			t.Errorf("ForgetWritePlace(%s) = %v, %v, want %v", step.path, found, err, step.want)
		}
	}
	wantPlaces(t, s)
}

func testPlacesBounded(t *testing.T, s sallyport.PlaceLedger) {
	many := make([]sallyport.WritePlace, sallyport.MaxWritePlaces)
	for i := range many {
		many[i] = sallyport.WritePlace{Path: fmt.Sprintf("/p/%d", i), By: "x", First: timeAfterDays(0), Last: timeAfterDays(0)}
	}
	recordPlaces(t, s, many...)
	if err := s.KeepWritePlaces(t.Context(), []sallyport.WritePlace{{Path: "/one/more"}}); err == nil {
		t.Error("one place more than the bound was kept")
	}
	recordPlaces(t, s, many[7])
	if got, err := s.WritePlaces(t.Context()); err != nil || len(got) != len(many) {
		t.Errorf("WritePlaces = %d places, %v, want the %d that were kept", len(got), err, len(many))
	}
}

func testPlacesConcurrent(t *testing.T, s sallyport.PlaceLedger) {
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			recordPlaces(t, s, sallyport.WritePlace{Path: fmt.Sprintf("/%d", i%4), By: "x", First: timeAfterDays(0), Last: timeAfterDays(0)})
		})
	}
	running.Wait()
	if got, err := s.WritePlaces(t.Context()); err != nil || len(got) != 4 {
		t.Errorf("WritePlaces = %v, %v, want four", got, err)
	}
}

func testPlacesCancelled(t *testing.T, s sallyport.PlaceLedger) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.KeepWritePlaces(ctx, []sallyport.WritePlace{{Path: "/a"}}); err == nil {
		t.Error("a place was kept after the end of the context")
	}
	wantPlaces(t, s)
}
