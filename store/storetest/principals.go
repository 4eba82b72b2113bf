package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport/auth"
)

func newRecord(name, token string) auth.Record {
	return auth.Record{
		Name: name, TokenSHA256: auth.HashToken(token), Permissions: []string{"file:read", "http:read"},
		Personalities: []string{"researcher"}, Created: time.Unix(1_700_000_000, 5), Expires: time.Unix(1_900_000_000, 7),
	}
}

// sameRecord compares what a store returned. Whether a list is nil or empty
// counts: no personalities and any personality are not the same.
func sameRecord(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(0)); diff != "" {
		t.Errorf("%s, difference (-want +got):\n%s", what, diff)
	}
}

func testPrincipals(t *testing.T, open opener) {
	w := open(t, Options{})
	s, ctx := w.Principals(), t.Context()
	byToken := func(token string, want auth.Record, ok bool) {
		t.Helper()
		got, have, err := s.ByToken(ctx, auth.HashToken(token))
		if err != nil || have != ok {
			t.Fatalf("ByToken(%s) = %v, %v, want %v", token, have, err, ok)
		}
		sameRecord(t, "ByToken("+token+")", got, want)
	}
	a, b := newRecord("a", "ta"), newRecord("b", "tb")
	b.Personalities, b.Permissions, b.Expires = nil, nil, time.Time{}
	none := newRecord("c", "tc")
	none.Personalities = []string{}
	for _, r := range []auth.Record{b, none, a} {
		if err := s.Add(ctx, &r); err != nil {
			t.Fatalf("Add(%s) = %v", r.Name, err)
		}
	}
	byToken("ta", a, true)
	byToken("tb", b, true)
	byToken("other", auth.Record{}, false)
	all, err := s.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sameRecord(t, "All()", all, []auth.Record{a, b, none})

	for what, r := range map[string]auth.Record{"name": newRecord("a", "new"), "token": newRecord("new", "ta")} {
		if err := s.Add(ctx, &r); !errors.Is(err, auth.ErrTaken) {
			t.Errorf("Add with a taken %s = %v, want ErrTaken", what, err)
		}
	}
	for what, r := range map[string]auth.Record{"name": newRecord("a:b", "x"), "hash": {Name: "x", TokenSHA256: strings.Repeat("g", 64)}} {
		if err := s.Add(ctx, &r); err == nil {
			t.Errorf("Add with a bad %s = nil, want an error", what)
		}
	}
	testUpdates(t, s, a)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.ByToken(ctx, a.TokenSHA256); err == nil {
		t.Error("ByToken of a closed store = no error, want one")
	}
}

func testUpdates(t *testing.T, s auth.Store, a auth.Record) {
	t.Helper()
	ctx := t.Context()
	rotated := a
	rotated.TokenSHA256, rotated.Rotated = auth.HashToken("ta2"), time.Unix(1_800_000_000, 0)
	err := s.Update(ctx, "a", func(r *auth.Record) error {
		sameRecord(t, "the record that Update hands out", *r, a)
		r.TokenSHA256, r.Rotated, r.Name = rotated.TokenSHA256, rotated.Rotated, "renamed"
		return nil
	})
	if err != nil {
		t.Fatalf("Update = %v", err)
	}
	got, ok, err := s.ByToken(ctx, rotated.TokenSHA256)
	if err != nil || !ok {
		t.Fatalf("ByToken(new) = %v, %v, want the record", ok, err)
	}
	sameRecord(t, "ByToken(new)", got, rotated)
	if _, ok, err := s.ByToken(ctx, a.TokenSHA256); ok || err != nil {
		t.Errorf("ByToken(old) = %v, %v, want none", ok, err)
	}
	no := errors.New("no")
	if err := s.Update(ctx, "a", func(r *auth.Record) error { r.TokenSHA256 = ""; return no }); !errors.Is(err, no) {
		t.Errorf("Update that fails = %v, want its error", err)
	}
	if _, ok, _ := s.ByToken(ctx, rotated.TokenSHA256); !ok {
		t.Error("an Update that failed was kept")
	}
	if err := s.Update(ctx, "a", func(r *auth.Record) error { r.TokenSHA256 = auth.HashToken("tb"); return nil }); !errors.Is(err, auth.ErrTaken) {
		t.Errorf("Update to a taken token = %v, want ErrTaken", err)
	}
	for _, name := range []string{"a", "b"} {
		err := s.Update(ctx, name, func(r *auth.Record) error { r.TokenSHA256, r.Revoked = "", a.Created; return nil })
		if err != nil {
			t.Errorf("Update(%s) to no token = %v", name, err)
		}
	}
	if _, ok, err := s.ByToken(ctx, ""); ok || err != nil {
		t.Errorf("ByToken(\"\") = %v, %v, want none", ok, err)
	}
	if err := s.Update(ctx, "nobody", func(*auth.Record) error { return nil }); !errors.Is(err, auth.ErrUnknown) {
		t.Errorf("Update(nobody) = %v, want ErrUnknown", err)
	}
}

func testPrincipalsConcurrent(t *testing.T, open opener) {
	w := open(t, Options{})
	s := w.Principals()
	var wg sync.WaitGroup
	errs := make([]error, 12)
	for i := range errs {
		wg.Go(func() {
			r := newRecord("one", fmt.Sprint("token", i))
			errs[i] = s.Add(t.Context(), &r)
		})
	}
	wg.Wait()
	added := 0
	for _, err := range errs {
		switch {
		case err == nil:
			added++
		case !errors.Is(err, auth.ErrTaken):
			t.Errorf("Add = %v, want nil or ErrTaken", err)
		}
	}
	if all, err := s.All(t.Context()); err != nil || added != 1 || len(all) != 1 {
		t.Errorf("%d of %d callers added the name, %d records, %v, want one", added, len(errs), len(all), err)
	}
}

func testSwitches(t *testing.T, open opener) {
	w := open(t, Options{})
	s, ctx := w.Switches(), t.Context()
	since := time.Unix(1_700_000_000, 9)
	stop := func(kind auth.SwitchKind, name, reason string, at time.Time) {
		t.Helper()
		if err := s.Stop(ctx, &auth.Switch{Kind: kind, Name: name, Reason: reason, Since: at}); err != nil {
			t.Fatalf("Stop(%s, %s) = %v", kind, name, err)
		}
	}
	check := func(want auth.Switch, ok bool) {
		t.Helper()
		got, have, err := s.Stopped(ctx, "p", "p/s", "tool")
		if err != nil || have != ok {
			t.Fatalf("Stopped = %v, %v, want %v", have, err, ok)
		}
		sameRecord(t, "Stopped()", got, want)
	}
	check(auth.Switch{}, false)
	// A name counts for its own kind only, and byte by byte.
	stop(auth.SwitchTool, "p", "", since)
	stop(auth.SwitchPrincipal, "tool", "", since)
	stop(auth.SwitchSession, "p", "", since)
	stop(auth.SwitchPrincipal, "P", "", since)
	check(auth.Switch{}, false)
	stop(auth.SwitchTool, "tool", "broken", since)
	check(auth.Switch{Kind: auth.SwitchTool, Name: "tool", Reason: "broken", Since: since}, true)
	stop(auth.SwitchSession, "p/s", "", since)
	check(auth.Switch{Kind: auth.SwitchSession, Name: "p/s", Since: since}, true)
	stop(auth.SwitchPrincipal, "p", "first", since)
	stop(auth.SwitchPrincipal, "p", "second", since.Add(time.Hour))
	check(auth.Switch{Kind: auth.SwitchPrincipal, Name: "p", Reason: "second", Since: since}, true)

	all, err := s.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, sw := range all {
		names = append(names, string(sw.Kind)+" "+sw.Name)
	}
	sameRecord(t, "All()", names, []string{
		"principal P", "principal p", "principal tool", "session p", "session p/s", "tool p", "tool tool",
	})
	stop(auth.SwitchServer, "b", "", since)
	stop(auth.SwitchServer, "a", "", since)
	for tool, want := range map[string]bool{"mcp__a__t": true, "prompt:mcp__a__t": true, "mcp__ab__t": false, "a": false} {
		got, have, err := s.Stopped(ctx, "q", "q/s", tool)
		if err != nil || have != want || have && (got.Kind != auth.SwitchServer || got.Name != "a") {
			t.Errorf("Stopped(%s) with a server stopped = %v, %v, %v, want %v", tool, got, have, err, want)
		}
	}
	stop(auth.SwitchEverything, auth.Everything, "", since)
	if got, have, err := s.Stopped(ctx, "q", "q/s", "t"); err != nil || !have || got.Kind != auth.SwitchEverything {
		t.Errorf("Stopped() with everything stopped = %v, %v, %v", got, have, err)
	}
	for _, sw := range []auth.SwitchTarget{{Kind: auth.SwitchServer, Name: "a"}, {Kind: auth.SwitchServer, Name: "b"}, {Kind: auth.SwitchEverything, Name: auth.Everything}} {
		if was, err := s.Start(ctx, sw.Kind, sw.Name); err != nil || !was {
			t.Errorf("Start(%v) = %v, %v", sw, was, err)
		}
	}
	for kind, name := range map[auth.SwitchKind]string{auth.SwitchPrincipal: "p", auth.SwitchSession: "p/s", auth.SwitchTool: "tool"} {
		if was, err := s.Start(ctx, kind, name); !was || err != nil {
			t.Errorf("Start(%s) = %v, %v, want true", name, was, err)
		}
		if was, err := s.Start(ctx, kind, name); was || err != nil {
			t.Errorf("Start(%s) again = %v, %v, want false", name, was, err)
		}
	}
	check(auth.Switch{}, false)
	for _, bad := range []auth.Switch{{Kind: "other", Name: "x"}, {Kind: auth.SwitchTool}, {Kind: auth.SwitchTool, Name: "x", Reason: "a\nb"}} {
		if err := s.Stop(ctx, &bad); err == nil {
			t.Errorf("Stop(%+v) = nil, want an error", bad)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Stopped(ctx, "p", "p/s", "tool"); err == nil {
		t.Error("Stopped of a closed store = no error, want one")
	}
}
