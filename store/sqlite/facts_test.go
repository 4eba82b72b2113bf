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

	"github.com/sallyport/sallyport"
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
