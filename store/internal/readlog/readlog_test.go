package readlog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func newRead(i int) *Read {
	return &Read{Session: "p/s", ReadRecord: sallyport.ReadRecord{
		Path: fmt.Sprint("/w/", i), Identity: fmt.Sprint("1:", i), Digest: [32]byte{byte(i)}, Time: time.Unix(int64(i), 5),
	}}
}

func addReads(t *testing.T, l *Log, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if _, err := l.Add(newRead(i)); err != nil {
			t.Fatalf("Add(%d) = %v", i, err)
		}
	}
}

// storeTo returns a store that collects what it is given.
func storeTo(got *[]string) Store {
	return func(_ context.Context, reads []Read) error {
		for _, r := range reads {
			*got = append(*got, r.Path)
		}
		return nil
	}
}

func failStore(context.Context, []Read) error { return errors.New("no") }

func wantPaths(t *testing.T, what string, got []string, from, to int) {
	t.Helper()
	var want []string
	for i := from; i < to; i++ {
		want = append(want, newRead(i).Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, difference (-want +got):\n%s", what, diff)
	}
}

func wantRecalled(t *testing.T, l *Log, i int, want bool) {
	t.Helper()
	r := newRead(i)
	for _, by := range [][2]string{{r.Path, ""}, {"/other", r.Identity}} {
		got, ok := l.Recall(r.Session, by[0], by[1], time.Unix(0, 0))
		if ok != want || ok && cmp.Diff(r.ReadRecord, got) != "" {
			t.Errorf("Recall(%v) = %v, %v, want %v", by, got, ok, want)
		}
	}
}

func othersOf(t *testing.T, l *Log) (paths []string) {
	t.Helper()
	reads, err := l.Others()
	if err != nil {
		t.Fatalf("Others = %v", err)
	}
	for _, r := range reads {
		paths = append(paths, r.Path)
	}
	return paths
}

func countFiles(t *testing.T, dir string) int {
	t.Helper()
	names, err := listFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

func TestOthersSeeWhatIsAdded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := New(dir, 10), New(dir, 10)
	if n := countFiles(t, dir); n != 0 {
		t.Errorf("%d files before the first read, want none", n)
	}
	addReads(t, a, 1, 3)
	addReads(t, b, 3, 4)
	wantPaths(t, "what b sees", othersOf(t, b), 1, 3)
	wantPaths(t, "what a sees", othersOf(t, a), 3, 4)
	wantRecalled(t, a, 1, true)
	wantRecalled(t, a, 3, false)

	var got []string
	if err := b.TakeOver(t.Context(), storeTo(&got)); err != nil || got != nil {
		t.Errorf("TakeOver = %v, moved %v of a process that lives", err, got)
	}
	if err := a.Move(t.Context(), storeTo(&got)); err != nil {
		t.Fatalf("Move = %v", err)
	}
	wantPaths(t, "what was moved", got, 1, 3)
	wantPaths(t, "what b sees after that", othersOf(t, b), 0, 0)
	wantRecalled(t, a, 1, false)
}

// TestMoveFails looks for reads before, between and after moves of which one fails.
func TestMoveFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, other := New(dir, 10), New(dir, 10)
	addReads(t, l, 0, 2)
	if err := l.Move(t.Context(), failStore); err == nil {
		t.Fatal("Move = nil, want the error of the store")
	}
	addReads(t, l, 2, 4)
	for i := range 4 {
		wantRecalled(t, l, i, true)
	}
	seen := othersOf(t, other)
	slices.Sort(seen)
	wantPaths(t, "what another process sees", seen, 0, 4)
	var got []string
	for range 2 {
		if err := l.Move(t.Context(), storeTo(&got)); err != nil {
			t.Fatalf("Move = %v", err)
		}
	}
	wantPaths(t, "what was moved", got, 0, 4)
	wantPaths(t, "what is left", othersOf(t, other), 0, 0)
}

// TestAddedDuringMove adds while the store has what was there before.
func TestAddedDuringMove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, other := New(dir, 10), New(dir, 10)
	addReads(t, l, 0, 2)
	err := l.Move(t.Context(), func(context.Context, []Read) error {
		addReads(t, l, 2, 4)
		for i := range 4 {
			wantRecalled(t, l, i, true)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Move = %v", err)
	}
	wantPaths(t, "what another process sees", othersOf(t, other), 2, 4)
	wantRecalled(t, l, 1, false)
	wantRecalled(t, l, 3, true)
}

func TestTheLastOfAPathIsMoved(t *testing.T) {
	t.Parallel()
	l := New(t.TempDir(), 2)
	first, again := newRead(1), newRead(1)
	again.Digest, again.Time = [32]byte{9}, first.Time.Add(-time.Hour) // the clock went back
	for _, r := range []*Read{first, newRead(2), again} {
		if _, err := l.Add(r); err != nil {
			t.Fatalf("Add = %v", err)
		}
	}
	got, ok := l.Recall(first.Session, first.Path, "", time.Unix(-7200, 0))
	if !ok || got.Digest != again.Digest {
		t.Errorf("Recall = %v, %v, want the read that was made last", got, ok)
	}
	err := l.Move(t.Context(), func(_ context.Context, reads []Read) error {
		if diff := cmp.Diff([]Read{*newRead(2), *again}, reads); diff != "" {
			t.Errorf("moved, difference (-want +got):\n%s", diff)
		}
		return nil
	})
	if err != nil {
		t.Errorf("Move = %v", err)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	l := New(t.TempDir(), 3)
	addReads(t, l, 0, 3)
	if _, err := l.Add(newRead(3)); !errors.Is(err, ErrFull) {
		t.Errorf("Add of one file more = %v, want ErrFull", err)
	}
	added := 0
	for ; added < maxBytes; added++ {
		if _, err := l.Add(newRead(1)); errors.Is(err, ErrFull) {
			break
		} else if err != nil {
			t.Fatalf("Add = %v", err)
		}
	}
	if size := added * len(appendRead(nil, newRead(1))); size > maxBytes || size < maxBytes/2 {
		t.Errorf("%d bytes of one file were added, the bound is %d", size, maxBytes)
	}
	if err := l.Move(t.Context(), storeTo(new([]string))); err != nil {
		t.Fatalf("Move = %v", err)
	}
	addReads(t, l, 3, 6)
}

// TestTakeOver closes files as the death of a process does.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dead, l := New(dir, 10), New(dir, 10)
	addReads(t, dead, 0, 3)
	if err := dead.closeFiles(); err != nil {
		t.Fatal(err)
	}
	if err := l.TakeOver(t.Context(), failStore); err == nil {
		t.Error("TakeOver = nil, want the error of the store")
	}
	wantPaths(t, "what is seen while it cannot be moved", othersOf(t, l), 0, 3)
	var got []string
	if err := l.TakeOver(t.Context(), storeTo(&got)); err != nil {
		t.Fatalf("TakeOver = %v", err)
	}
	wantPaths(t, "what was moved", got, 0, 3)
	if n := countFiles(t, dir); n != 0 {
		t.Errorf("%d files are left, want none", n)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := New(dir, 10)
	addReads(t, l, 0, 2)
	if err := l.Move(t.Context(), failStore); err == nil {
		t.Fatal("Move = nil")
	}
	addReads(t, l, 2, 4)
	var got []string
	if err := l.Close(t.Context(), storeTo(&got)); err != nil {
		t.Fatalf("Close = %v", err)
	}
	wantPaths(t, "what was moved", got, 0, 4)
	if n := countFiles(t, dir); n != 0 {
		t.Errorf("%d files are left, want none", n)
	}
	if _, err := l.Add(newRead(5)); err == nil {
		t.Error("Add after Close = nil")
	}

	failing := New(dir, 10)
	addReads(t, failing, 0, 2)
	if err := failing.Close(t.Context(), failStore); err == nil {
		t.Error("Close = nil, want the error of the store")
	}
	wantPaths(t, "what stays for a later process", othersOf(t, New(dir, 10)), 0, 2)
	got = nil
	if err := failing.Move(t.Context(), storeTo(&got)); err == nil || got != nil {
		t.Errorf("Move after Close = %v, moved %v: a later process has that", err, got)
	}
	if err := failing.Close(t.Context(), failStore); err != nil {
		t.Errorf("Close once more = %v", err)
	}
}

// TestOtherNamesStay: what this package does not make is not read and not removed.
func TestOtherNamesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hex := "0123456789abcdef0123456789abcdef"
	names := []string{"reads-", "reads-of-mine", "reads-" + hex + "0", "reads-" + hex[1:], "reads-" + strings.ToUpper(hex)}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), appendRead(nil, newRead(1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := New(dir, 10)
	var got []string
	if err := l.TakeOver(t.Context(), storeTo(&got)); err != nil || got != nil {
		t.Errorf("TakeOver = %v, moved %v", err, got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != len(names) || len(othersOf(t, l)) > 0 {
		t.Errorf("%d files are left, %v, want %d of which none is read", len(left), err, len(names))
	}
}

// TestDamagedFile cuts a file at every place and changes every byte of it.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), prefix+"x")
	one := appendRead(nil, newRead(1))
	whole := appendRead(slices.Clone(one), newRead(2))
	check := func(what string, b []byte, want int) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		reads, err := readFile(path)
		if err != nil || len(reads) != want {
			t.Errorf("%s: readFile = %d reads, %v, want %d", what, len(reads), err, want)
		}
		for i, r := range reads {
			if diff := cmp.Diff(*newRead(i + 1), r); diff != "" {
				t.Errorf("%s, difference (-want +got):\n%s", what, diff)
			}
		}
	}
	for n := range len(whole) + 1 {
		check(fmt.Sprint("cut at ", n), whole[:n], n/len(one))
	}
	for n := range whole {
		b := slices.Clone(whole)
		b[n] ^= 0x40
		check(fmt.Sprint("byte ", n), b, n/len(one))
	}
	check("zeros behind", append(slices.Clone(whole), make([]byte, 200)...), 2)
}
