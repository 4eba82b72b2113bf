package approvals

import (
	"context"
	"testing"
	"time"
)

type settings map[string]string

func (s settings) Get(_ context.Context, name string) (value string, ok bool, err error) {
	value, ok = s[name]
	return value, ok, nil
}

func (s settings) Put(_ context.Context, name, value string) error {
	s[name] = value
	return nil
}

func TestAWatcherCountsForOneLease(t *testing.T) {
	t.Parallel()
	s, now := settings{}, time.Now()
	check := func(what string, at time.Time, want bool) {
		t.Helper()
		if got, err := Watched(t.Context(), s, at); got != want || err != nil {
			t.Errorf("%s: Watched() = %t, %v, want %t", what, got, err, want)
		}
	}
	check("without a watcher", now, false)
	if err := Announce(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	check("just announced", now, true)
	check("before the end of the lease", now.Add(Lease-1), true)
	check("at the end of the lease", now.Add(Lease), false)
	check("announced by a clock that is ahead", now.Add(-time.Second), false)
	if err := Leave(t.Context(), s, now); err != nil {
		t.Fatal(err)
	}
	check("after it left", now, false)
}

func TestABrokenAnnouncementCountsForNothing(t *testing.T) {
	t.Parallel()
	if got, err := Watched(t.Context(), settings{watchedUntil: "soon"}, time.Now()); got || err == nil {
		t.Errorf("Watched() = %t, %v, want an error", got, err)
	}
}
