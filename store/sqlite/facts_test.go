package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/facts"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/sqlite"
)

// childFacts serves one store to a parent that writes a fact a line, and
// answers with how many were kept before.
func childFacts(path string) error {
	lines := bufio.NewScanner(os.Stdin)
	db, err := sqlite.Open(context.Background(), path, nil)
	if err != nil {
		return err
	}
	for lines.Scan() {
		session, fact, _ := strings.Cut(lines.Text(), " ")
		before, err := db.Facts().Note(context.Background(), "p", session, []sallyport.FactMark{{Fact: sallyport.Fact(fact), Time: time.Now()}})
		if err != nil {
			return err
		}
		if _, err := fmt.Println(len(before)); err != nil {
			return err
		}
	}
	return db.Close()
}

// TestFactsOfSeveralProcesses notes two facts at once in two processes: one of
// them sees the other's, and both are there after a kill.
func TestFactsOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	here := open(t, path, nil).Facts()
	a, b := startChild(t, "facts", path), startChild(t, "facts", path)
	const rounds = 10
	for round := range rounds {
		if _, err := here.Forget(t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		a.writeLine(t, fmt.Sprintf("s%d private", round))
		b.writeLine(t, fmt.Sprintf("s%d untrusted", round))
		if saw := a.readLine(t) + b.readLine(t); saw != "02" && saw != "20" {
			t.Fatalf("round %d: the processes saw %q facts, want one to see the two marks of the other", round, saw)
		}
	}
	for _, c := range []*child{a, b} {
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
	}
	marks, err := here.Facts(t.Context(), "p", fmt.Sprint("s", rounds-1))
	if err != nil || len(marks) != 4 {
		t.Errorf("after the kill: Facts = %v, %v, want both facts of the session and the principal", marks, err)
	}
}

// bring records the intent of a call that brings a fact, and returns how many were
// known just before.
func bring(ctx context.Context, db *sqlite.DB, l *audit.Log, principal, session, fact, call string) (int, error) {
	store := db.Facts().(interface {
		BeforeRecord(ctx context.Context, principal, session, call string) (func() ([]sallyport.FactMark, error), error)
	})
	before, err := store.BeforeRecord(ctx, principal, session, call)
	if err != nil {
		return 0, err
	}
	err = l.Record(ctx, &audit.Event{
		Kind: audit.KindIntent, CallID: call, Tool: "t", Principal: principal,
		Brought: &facts.Brought{Session: facts.Digest(session), Private: fact == "private", Untrusted: fact == "untrusted"},
	})
	marks, err2 := before()
	return len(marks), errors.Join(err, err2)
}

// childBrings records what the lines of a parent say, and answers with how many
// facts were known before.
func childBrings(path, name string) error {
	ctx, lines := context.Background(), bufio.NewScanner(os.Stdin)
	db, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	l, err := audit.New(db, childKey(), nil)
	if err != nil {
		return err
	}
	for n := 0; lines.Scan(); n++ {
		f := strings.Fields(lines.Text())
		known, err := bring(ctx, db, l, f[0], f[1], f[2], fmt.Sprint(name, n))
		if err != nil {
			return err
		}
		if _, err := fmt.Println(known); err != nil {
			return err
		}
	}
	return db.Close()
}

// TestFactsInTheRecordOfSeveralProcesses: of two calls at once in two processes, the
// one whose intent is later sees the other. Both are there after a kill, for who was
// open before and for who opens the state anew, and forgotten at once.
func TestFactsInTheRecordOfSeveralProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db := open(t, path, nil)
	l := audittest.NewLog(t, db)
	a, b := startChild(t, "brings", path, "a"), startChild(t, "brings", path, "b")
	const rounds = 20
	for round := range rounds {
		a.writeLine(t, fmt.Sprintf("p%d s private", round))
		b.writeLine(t, fmt.Sprintf("p%d s untrusted", round))
		if saw := a.readLine(t) + b.readLine(t); saw != "02" && saw != "20" {
			t.Fatalf("round %d: the processes saw %q facts, want one to see the two marks of the other", round, saw)
		}
		if n, err := bring(t.Context(), db, l, fmt.Sprint("p", round), "s", "private", fmt.Sprint("here", round)); n != 4 || err != nil {
			t.Fatalf("round %d: %d facts, %v, want both of the session and the principal", round, n, err)
		}
	}
	if was, err := db.Facts().Forget(t.Context(), "p0"); !was || err != nil {
		t.Fatalf("Forget = %v, %v", was, err)
	}
	a.writeLine(t, "p0 s private")
	if saw := a.readLine(t); saw != "0" {
		t.Errorf("after Forget, the other process saw %s facts", saw)
	}
	for _, c := range []*child{a, b} {
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
	}
	for _, db := range []*sqlite.DB{db, open(t, path, nil)} {
		for round := range rounds {
			want := 4
			if round == 0 {
				want = 2
			}
			marks, err := db.Facts().Facts(t.Context(), fmt.Sprint("p", round), "s")
			if err != nil || len(marks) != want {
				t.Errorf("after the kill: Facts(p%d) = %v, %v, want %d", round, marks, err, want)
			}
		}
	}
}

// TestFactsOutliveTheirRecords: the index takes them over, whatever has become of
// the record since, and knows the newest. A process that missed them reads on.
func TestFactsOutliveTheirRecords(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	db, other := open(t, path, sqlite.NoIndex()), open(t, path, sqlite.NoIndex())
	l := audittest.NewLog(t, db)
	want := func(n int, sessions ...string) {
		t.Helper()
		for _, s := range sessions {
			for _, db := range []*sqlite.DB{db, other, open(t, path, sqlite.NoIndex())} {
				if marks, err := db.Facts().Facts(t.Context(), "p", s); len(marks) != n || err != nil {
					t.Errorf("Facts(%s) = %v, %v, want %d", s, marks, err, n)
				}
			}
		}
	}
	record := func(session, call string) {
		t.Helper()
		if _, err := bring(t.Context(), db, l, "p", session, "private", call); err != nil {
			t.Fatal(err)
		}
	}
	want(0, "s1")
	record("s1", "c1")
	want(2, "s1")
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(2, "s1")
	record("", "c2")
	record("s2", "c3")
	want(2, "s1", "s2")
	want(1, "s3")
	if _, err := audit.Prune(t.Context(), db, audittest.NewKey(t, "key"), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	want(2, "s1", "s2")
	want(1, "s3")
	record("s3", "c4")
	want(2, "s1", "s2", "s3")
	marks, err := other.Facts().Facts(t.Context(), "p", "s1")
	for _, m := range marks {
		if newest := map[bool]string{true: "c1", false: "c4"}[m.Session]; m.CallID != newest {
			t.Errorf("mark = %+v, want the call %s", m, newest)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if was, err := other.Facts().Forget(t.Context(), "p"); !was || err != nil {
		t.Errorf("Forget = %v, %v", was, err)
	}
	want(0, "s1", "s2", "s3")
	if err := db.IndexAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(0, "s1", "s2", "s3")
}

// TestACallWithoutItsRecordKnowsNothing: a call that waits for a record which is not
// in this state is told so.
func TestACallWithoutItsRecordKnowsNothing(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	elsewhere := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	if _, err := bring(t.Context(), db, audittest.NewLog(t, elsewhere), "p", "s", "private", "c"); err == nil {
		t.Error("what was known before the record is told without the record")
	}
}

func TestOldFactsAreRemoved(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "state.db"), nil).Facts()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	note := func(principal string) {
		t.Helper()
		if _, err := s.Note(t.Context(), principal, "s", []sallyport.FactMark{{Fact: sallyport.FactPrivate, Time: now}}); err != nil {
			t.Fatal(err)
		}
	}
	note("old")
	now = now.Add(sallyport.SessionFactAge + time.Second)
	note("young")
	for principal, want := range map[string]int{"old": 0, "young": 2} {
		if marks, err := s.Facts(t.Context(), principal, "s"); len(marks) != want || err != nil {
			t.Errorf("Facts(%s) = %v, %v, want %d marks", principal, marks, err, want)
		}
	}
}

// TestFactsOfRecordsAreBounded: of the sessions that records name, the newest stay, and
// what no longer counts goes, also that of a principal that is gone. It is the same
// however many records are indexed at once, and a clock that is ahead removes nothing.
func TestFactsOfRecordsAreBounded(t *testing.T) {
	t.Parallel()
	const surplus = 700
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	session := func(i int) string { return fmt.Sprint("s", i) }
	record := func(db *sqlite.DB, l *audit.Log, every int) {
		t.Helper()
		n := 0
		add := func(principal, session string, at time.Time) {
			t.Helper()
			err := l.Record(t.Context(), &audit.Event{
				Kind: audit.KindIntent, CallID: fmt.Sprint("c", n), Tool: "t", Principal: principal, Time: at,
				Brought: &facts.Brought{Session: facts.Digest(session), Private: true, Untrusted: true},
			})
			if n++; err == nil && n%every == 0 {
				err = db.IndexAll(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i := range surplus {
			add("gone", session(i), began)
		}
		for i := range facts.MaxSessions + surplus {
			add("p", session(i), began.Add(time.Hour+time.Duration(i)*time.Second))
		}
		if err := db.IndexAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := len(db.FactRows(t, "gone")), 2+2*surplus; got != want {
			t.Errorf("%d rows of a principal whose facts count, want %d", got, want)
		}
		add("q", "s", began.Add(sallyport.SessionFactAge))
		if err := db.IndexAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := map[int][]string{}
	for every, now := range map[int]time.Time{
		150: began.Add(sallyport.SessionFactAge), 1 << 20: began.Add(100 * sallyport.SessionFactAge),
	} {
		o := sqlite.NoIndex()
		o.Now = func() time.Time { return now }
		db := open(t, filepath.Join(t.TempDir(), "state.db"), o)
		record(db, audittest.NewLog(t, db), every)
		all[every] = db.FactRows(t, "")
		if rows := db.FactRows(t, "gone"); len(rows) > 0 {
			t.Errorf("%d rows no longer count, and are kept", len(rows))
		}
		if got, want := len(db.FactRows(t, "p")), 2+2*facts.MaxSessions; got != want {
			t.Errorf("%d rows of a principal with too many sessions, want %d", got, want)
		}
		for i, want := range map[int]int{0: 2, surplus - 1: 2, surplus: 4, facts.MaxSessions + surplus - 1: 4} {
			if marks, err := db.Facts().Facts(t.Context(), "p", session(i)); len(marks) != want || err != nil {
				t.Errorf("Facts(%s) = %v, %v, want %d marks", session(i), marks, err, want)
			}
		}
	}
	if diff := cmp.Diff(all[150], all[1<<20]); diff != "" {
		t.Errorf("indexed at once, the facts differ:\n%s", diff)
	}
}

// TestOldFactsAreFoundByAnIndex: each transaction of the index looks for them.
func TestOldFactsAreFoundByAnIndex(t *testing.T) {
	t.Parallel()
	plan := open(t, filepath.Join(t.TempDir(), "state.db"), nil).FactPlan(t)
	if strings.Contains(plan, "SCAN") || !strings.Contains(plan, "facts_time") {
		t.Errorf("the engine finds them so:\n%s", plan)
	}
}

func TestFactsOfAClosedStore(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "state.db"), nil)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Facts().Facts(t.Context(), "p", "s"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Facts = %v, want ErrClosed", err)
	}
	if _, err := db.Facts().Note(t.Context(), "p", "s", nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Note = %v, want ErrClosed", err)
	}
}

func BenchmarkFacts(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "state.db"), nil).Facts()
	if _, err := s.Note(b.Context(), "p", "s", []sallyport.FactMark{{Fact: sallyport.FactPrivate, Time: time.Now()}}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Facts(b.Context(), "p", "s"); err != nil {
			b.Fatal(err)
		}
	}
}
