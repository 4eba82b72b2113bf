package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
)

// state is an empty state file, opened once for each program that the test
// stands for.
func state(t testing.TB, programs int) []*sqlite.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	var dbs []*sqlite.DB
	for range programs {
		db, err := sqlite.Open(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		dbs = append(dbs, db)
	}
	return dbs
}

func directory(t testing.TB, records []auth.Record, store auth.Store, o *auth.Options) *auth.Directory {
	t.Helper()
	d, err := auth.NewDirectory(t.Context(), records, store, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func known(t testing.TB, d auth.Tokens, token, name string) {
	t.Helper()
	p, ok, err := d.Principal(t.Context(), token)
	if err != nil || ok != (name != "") || p.Name != name {
		t.Errorf("Principal() = %+v, %v, %v, want %q", p, ok, err, name)
	}
	if d, is := d.(*auth.Directory); is && token != "" {
		if held, ok, err := d.FindHolder(t.Context(), auth.HashToken(token)); err != nil || ok != (name != "") || !cmp.Equal(held, p) {
			t.Errorf("FindHolder() = %+v, %v, %v, want %+v", held, ok, err, p)
		}
	}
}

func TestChangesCountAtOnceInEveryProgram(t *testing.T) {
	dbs, ctx := state(t, 2), t.Context()
	server := directory(t, nil, dbs[0].Principals(), &auth.Options{DefaultPermissions: []string{"base"}})
	cli := directory(t, nil, dbs[1].Principals(), nil)
	first, err := cli.Add(ctx, auth.Record{Name: "ci", Permissions: []string{"http:read", "base"}, Personalities: []string{"reader"}})
	if err != nil {
		t.Fatal(err)
	}
	p, ok, err := server.Principal(ctx, first)
	want := sallyport.Principal{Name: "ci", Permissions: []string{"base", "http:read"}, Personalities: []string{"reader"}}
	p.Revision = 0
	if diff := cmp.Diff(want, p); !ok || err != nil || diff != "" {
		t.Errorf("Principal() = %v, %v, difference (-want +got):\n%s", ok, err, diff)
	}
	second, err := cli.Rotate(ctx, "ci", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	known(t, server, first, "")
	known(t, server, second, "ci")
	if err := cli.Revoke(ctx, "ci"); err != nil {
		t.Fatal(err)
	}
	known(t, server, second, "")
	if _, err := cli.Rotate(ctx, "ci", time.Time{}); err == nil {
		t.Error("Rotate of a revoked principal = nil, want an error")
	}
	if _, ok, err := server.Named(ctx, "ci"); ok || err != nil {
		t.Errorf("Named(revoked) = %v, %v, want none", ok, err)
	}
	if _, err := cli.Add(ctx, auth.Record{Name: "ci"}); !errors.Is(err, auth.ErrTaken) {
		t.Errorf("Add of a revoked name = %v, want ErrTaken", err)
	}
}

// TestWhoStandsHasTheTokenItCameWith rotates and revokes after a principal was let
// in.
func TestWhoStandsHasTheTokenItCameWith(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	d := directory(t, []auth.Record{{Name: "boss"}}, state(t, 1)[0].Principals(), &auth.Options{Now: func() time.Time { return now }})
	if _, err := d.Add(t.Context(), auth.Record{Name: "ci"}); err != nil {
		t.Fatal(err)
	}
	stands := func(name string, since time.Time) bool {
		t.Helper()
		ok, err := d.Stands(t.Context(), name, since)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	before := now
	if !stands("ci", before) || !stands("boss", before) || !stands("local", before) || stands("nobody", before) {
		t.Error("who is there does not stand, or no principal does")
	}
	now = now.Add(time.Minute)
	if _, err := d.Rotate(t.Context(), "ci", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if stands("ci", before) || !stands("ci", now) {
		t.Error("after a rotation: want who came before it not to stand, and who came with the new token to")
	}
	if err := d.Revoke(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	if stands("ci", now) {
		t.Error("a revoked principal stands")
	}
}

func TestASwitchOfAnotherProgramCountsAtOnce(t *testing.T) {
	dbs, ctx := state(t, 2), t.Context()
	server, err := auth.NewSwitches(dbs[0].Switches())
	if err != nil {
		t.Fatal(err)
	}
	cli, err := auth.NewSwitches(dbs[1].Switches())
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		kind, why, err := server.Stopped(ctx, "p", "p/s", "tool")
		if kind != want || err != nil || strings.Contains(why, "leak") != (want != "") {
			t.Errorf("Stopped() = %q, %q, %v, want %q", kind, why, err, want)
		}
	}
	check("")
	if err := cli.Stop(ctx, auth.SwitchPrincipal, "p", "leak"); err != nil {
		t.Fatal(err)
	}
	check("principal")
	if was, err := cli.Start(ctx, auth.SwitchPrincipal, "p"); !was || err != nil {
		t.Errorf("Start() = %v, %v, want true", was, err)
	}
	check("")
	if _, err := auth.NewSwitches(nil); err == nil {
		t.Error("NewSwitches(nil) = nil error, want one")
	}
	_ = dbs[0].Close()
	if _, _, err := server.Stopped(ctx, "p", "p/s", "tool"); err == nil {
		t.Error("Stopped() over a closed state = no error, want one: it is not known")
	}
}

func TestExpiryIsJudgedAtEachUse(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := &auth.Options{Now: func() time.Time { return now }}
	token, hash := auth.NewToken()
	end := now.Add(time.Hour)
	d := directory(t, []auth.Record{{Name: "fixed", TokenSHA256: hash, Expires: end}}, state(t, 1)[0].Principals(), o)
	kept, err := d.Add(t.Context(), auth.Record{Name: "kept", Expires: end})
	if err != nil {
		t.Fatal(err)
	}
	now = end.Add(-1)
	known(t, d, token, "fixed")
	known(t, d, kept, "kept")
	now = end
	known(t, d, token, "")
	known(t, d, kept, "")
	for _, name := range []string{"fixed", "kept"} {
		if _, ok, err := d.Named(t.Context(), name); ok || err != nil {
			t.Errorf("Named(%s) = %v, %v, want none: it expired", name, ok, err)
		}
	}
	if _, err := d.Rotate(t.Context(), "kept", time.Time{}); err == nil {
		t.Error("Rotate of an expired principal = nil, want an error")
	}
	kept, err = d.Rotate(t.Context(), "kept", end.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	known(t, d, kept, "kept")
	if _, err := d.Add(t.Context(), auth.Record{Name: "late", Expires: now}); err == nil {
		t.Error("Add of what is over = nil, want an error")
	}
}

func TestANameIsInOnePlace(t *testing.T) {
	dbs, ctx := state(t, 2), t.Context()
	token, hash := auth.NewToken()
	both := []auth.Record{{Name: "both", TokenSHA256: hash, Permissions: []string{"low"}}}
	server := directory(t, both, dbs[0].Principals(), nil)
	for what, err := range map[string]error{
		"Add":         second(server.Add(ctx, auth.Record{Name: "both"})),
		"Add local":   second(server.Add(ctx, auth.Record{Name: sallyport.LocalPrincipal})),
		"Add oidc":    second(server.Add(ctx, auth.Record{Name: "oidc:alice"})),
		"Rotate":      second(server.Rotate(ctx, "both", time.Time{})),
		"Revoke":      server.Revoke(ctx, "both"),
		"Revoke none": server.Revoke(ctx, "nobody"),
	} {
		if err == nil {
			t.Errorf("%s = nil, want an error", what)
		}
	}
	// A program with another configuration adds the name: the server that has
	// it in its own lets the other token not pass for it.
	var log strings.Builder
	server = directory(t, both, dbs[0].Principals(), &auth.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	elsewhere := directory(t, nil, dbs[1].Principals(), nil)
	stray, err := elsewhere.Add(ctx, auth.Record{Name: "both", Permissions: []string{"high"}})
	if err != nil {
		t.Fatal(err)
	}
	known(t, server, stray, "")
	known(t, server, token, "both")
	if !strings.Contains(log.String(), "both") || strings.Contains(log.String(), stray) {
		t.Errorf("log = %q, want the name and no token", &log)
	}
	if _, err := auth.NewDirectory(ctx, both, dbs[0].Principals(), nil); err == nil {
		t.Error("NewDirectory with a name in both = nil, want an error")
	}
	if err := server.Replace(ctx, both, nil); err == nil {
		t.Error("Replace with a name in both = nil, want an error")
	}
}

func second[T any](_ T, err error) error { return err }

func TestReplaceIsAllOrNothing(t *testing.T) {
	a, ha := auth.NewToken()
	b, hb := auth.NewToken()
	d := directory(t, []auth.Record{{Name: "a", TokenSHA256: ha}}, nil, &auth.Options{DefaultPermissions: []string{"old"}})
	for name, bad := range map[string][]auth.Record{
		"a name twice":       {{Name: "b", TokenSHA256: hb}, {Name: "b"}},
		"a token twice":      {{Name: "b", TokenSHA256: hb}, {Name: "c", TokenSHA256: hb}},
		"no hash":            {{Name: "b", TokenSHA256: b}},
		"hash in upper case": {{Name: "b", TokenSHA256: strings.ToUpper(hb)}},
		"hash of nothing":    {{Name: "b", TokenSHA256: auth.HashToken("")}},
		"no name":            {{TokenSHA256: hb}},
		"a name of issuers":  {{Name: "oidc:b", TokenSHA256: hb}},
		"a role twice":       {{Name: "b", TokenSHA256: hb, Personalities: []string{"r", "r"}}},
		"a wildcard":         {{Name: "b", TokenSHA256: hb, Permissions: []string{"*"}}},
	} {
		if err := d.Replace(t.Context(), bad, nil); err == nil {
			t.Errorf("Replace with %s = nil, want an error", name)
		}
		known(t, d, a, "a")
		known(t, d, b, "")
	}
	next := []auth.Record{{Name: "b", TokenSHA256: hb, Permissions: []string{"p"}}}
	if err := d.Replace(t.Context(), next, []string{"new"}); err != nil {
		t.Fatal(err)
	}
	next[0].Permissions[0] = "root"
	known(t, d, a, "")
	p, _, _ := d.Principal(t.Context(), b)
	if !slices.Equal(p.Permissions, []string{"new", "p"}) {
		t.Errorf("permissions = %v, want those at the time of Replace", p.Permissions)
	}
	// What a caller does with its copy is its own affair.
	p.Permissions[0] = "root"
	if p, _, _ := d.Principal(t.Context(), b); p.Permissions[0] != "new" {
		t.Error("the directory shares its lists")
	}
	if _, err := d.Add(t.Context(), auth.Record{Name: "c"}); err == nil {
		t.Error("Add without a state = nil, want an error")
	}
}

func TestTheLocalUser(t *testing.T) {
	m, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	token, hash := auth.NewToken()
	late, lateHash := auth.NewToken()
	now := ""
	d := directory(t, []auth.Record{{Name: "local", Permissions: []string{"p"}}}, m.Principals(), &auth.Options{
		DefaultPermissions: []string{"base"}, LocalSHA256: hash,
		LocalToken: func(context.Context) (string, error) { return now, nil },
	})
	p, _, _ := d.Principal(t.Context(), token)
	named, _, _ := d.Named(t.Context(), "local")
	for _, c := range []struct {
		got    sallyport.Principal
		person bool
	}{{p, false}, {named, true}, {d.Local(), true}} {
		c.got.Revision = 0 // of the configuration, which differs from test to test
		want := sallyport.Principal{Name: "local", Permissions: []string{"base", "p"}, Person: c.person}
		if diff := cmp.Diff(want, c.got); diff != "" {
			t.Errorf("local, difference (-want +got):\n%s", diff)
		}
	}
	known(t, d, late, "")
	known(t, d, "", "")
	now = lateHash
	known(t, d, late, "local")
	d = directory(t, nil, nil, &auth.Options{LocalToken: func(context.Context) (string, error) { return "", errors.New("down") }})
	if _, ok, err := d.Principal(t.Context(), token); ok || err == nil {
		t.Errorf("Principal() = %v, %v, want the error", ok, err)
	}
	if _, err := auth.NewDirectory(t.Context(), nil, nil, &auth.Options{LocalSHA256: auth.HashToken("")}); err == nil {
		t.Error("NewDirectory with the hash of nothing = nil, want an error")
	}
}

func TestAStateThatCannotBeReadLetsNobodyIn(t *testing.T) {
	db := state(t, 1)[0]
	token, hash := auth.NewToken()
	d := directory(t, []auth.Record{{Name: "a", TokenSHA256: hash}}, db.Principals(), nil)
	kept, err := d.Add(t.Context(), auth.Record{Name: "kept"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if p, ok, err := d.Principal(t.Context(), kept); ok || err == nil || p.Name != "" {
		t.Errorf("Principal() = %+v, %v, %v, want an error", p, ok, err)
	}
	known(t, d, token, "a")
}

func BenchmarkPrincipal(b *testing.B) {
	token, hash := auth.NewToken()
	d := directory(b, []auth.Record{{Name: "fixed", TokenSHA256: hash}}, state(b, 1)[0].Principals(), nil)
	kept, err := d.Add(b.Context(), auth.Record{Name: "kept"})
	if err != nil {
		b.Fatal(err)
	}
	for name, token := range map[string]string{"configuration": token, "state": kept, "unknown": kept + "x"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, ok, err := d.Principal(b.Context(), token); ok != (name != "unknown") || err != nil {
						b.Error(ok, err)
					}
				}
			})
		})
	}
}

func BenchmarkStopped(b *testing.B) {
	s, err := auth.NewSwitches(state(b, 1)[0].Switches())
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Stop(b.Context(), auth.SwitchTool, "other", ""); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if kind, _, err := s.Stopped(b.Context(), "p", "p/s", "tool"); kind != "" || err != nil {
				b.Error(kind, err)
			}
		}
	})
}

// TestA6_B5_ATokenThatTheConfigurationReplacesEndsWhatWasBegun: as with the
// rotation of a token of the state, what was begun with the old one is over.
func TestA6_B5_ATokenThatTheConfigurationReplacesEndsWhatWasBegun(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	d := directory(t, []auth.Record{
		{Name: "ci", TokenSHA256: auth.HashToken("old")}, {Name: "other", TokenSHA256: auth.HashToken("theirs")},
	}, nil, &auth.Options{Now: func() time.Time { return now }})
	begun := now
	stands := func(name string, since time.Time, want bool) {
		t.Helper()
		if ok, err := d.Stands(t.Context(), name, since); ok != want || err != nil {
			t.Errorf("Stands(%s, %s) = %v, %v, want %v", name, since, ok, err, want)
		}
	}
	for range 2 { // a later reload does not forget it
		now = now.Add(time.Minute)
		if err := d.Replace(t.Context(), []auth.Record{
			{Name: "ci", TokenSHA256: auth.HashToken("new")}, {Name: "other", TokenSHA256: auth.HashToken("theirs")},
		}, nil); err != nil {
			t.Fatal(err)
		}
		stands("ci", begun, false)
		stands("other", begun, true)
		stands("ci", begun.Add(time.Minute), true)
	}
}
