package recordlog

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/store"
)

// filledLog is a log whose files a test changes, and what was in them.
type filledLog struct {
	dir     string
	id      ID
	entries []Entry
	view    View
	copied  string
}

// fill makes a log of some calls. It is closed as a killed process closes it,
// unless it is marked, as a clean end does.
func fill(t testing.TB, calls int, marked bool) *filledLog {
	t.Helper()
	f := &filledLog{dir: filepath.Join(t.TempDir(), "log")}
	f.id = logIn(t, f.dir)
	c := openLog(t, f.dir, f.id)
	audittest.RecordCalls(t, audittest.NewLog(t, c), c, "c", calls)
	f.readAll(t, c.Log)
	c.mu.Lock()
	c.unmarked = marked
	c.mu.Unlock()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *filledLog) readAll(t testing.TB, l *Log) {
	t.Helper()
	var err error
	if f.view, err = l.View(t.Context()); err != nil {
		t.Fatal(err)
	}
	for e, err := range l.Scan(t.Context(), &f.view, f.view.First, f.view.Checkpoint.Seq+1) {
		if err != nil {
			t.Fatal(err)
		}
		f.entries = append(f.entries, e)
	}
}

// copyWith returns a folder with the log, of which the segment at a place has
// another text. It is the same folder each time.
func (f *filledLog) copyWith(t testing.TB, at Position, edit func(b []byte) []byte) string {
	t.Helper()
	if f.copied == "" {
		f.copied = filepath.Join(t.TempDir(), "log")
		if err := os.CopyFS(f.copied, os.DirFS(f.dir)); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range readDir(t, f.dir) {
		b, err := os.ReadFile(filepath.Join(f.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == segmentName(at.segment()) {
			b = edit(b)
		}
		// Not emptied first, which some file systems bring to the disk.
		file, err := os.OpenFile(filepath.Join(f.copied, e.Name()), os.O_WRONLY, 0)
		if err == nil {
			_, err = file.WriteAt(b, 0)
		}
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return f.copied
}

// verify reports on a copy after another record was added to it.
func (f *filledLog) verify(t testing.TB, dir string) audit.Report {
	t.Helper()
	l, err := Open(dir, f.id, 0, small())
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	c := chain{l}
	log, err := audit.New(c, audittest.NewKey(t, "key"), &audit.Options{Settle: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Record(t.Context(), audittest.NewEvent(audit.KindOutcome, "more")); err != nil {
		t.Fatalf("Record = %v", err)
	}
	r := audittest.VerifyRecords(t, c, nil)
	// Nothing waits for the disk: there are many copies.
	l.mu.Lock()
	l.lost = errors.New("not needed")
	l.mu.Unlock()
	_ = log.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestATornEndIsTheEnd cuts the log at every byte of its last three frames, in
// which nothing has reached the disk: what is whole before the cut stays, and the
// log goes on from there.
func TestATornEndIsTheEnd(t *testing.T) {
	t.Parallel()
	needs.NoRace(t)
	f := fill(t, 5, false)
	last := f.entries[len(f.entries)-3:]
	for n := last[0].At.offset(); n <= last[2].Next.offset(); n++ {
		want := int64(len(f.entries)-3) + 1
		for _, e := range last {
			if n >= e.Next.offset() {
				want++
			}
		}
		for _, fillWith := range []byte{0, 0xAA} {
			dir := f.copyWith(t, last[0].At, func(b []byte) []byte {
				for i := n; i < last[2].Next.offset(); i++ {
					b[i] = fillWith
				}
				return b
			})
			if r := f.verify(t, dir); !r.OK() || r.Records != want {
				t.Fatalf("cut at %d with %#x: %s, want %d good records", n, fillWith, r.String(), want)
			}
		}
	}
}

// TestALostPageBeforeOthers: the power takes a page and leaves one behind it.
func TestALostPageBeforeOthers(t *testing.T) {
	t.Parallel()
	f := fill(t, 5, false)
	lost := f.entries[4]
	dir := f.copyWith(t, lost.At, func(b []byte) []byte {
		clear(b[lost.At.offset():lost.Next.offset()])
		return b
	})
	if r := f.verify(t, dir); !r.OK() || r.Records != 5 {
		t.Errorf("Verify: %s, want the four before the lost one and the new one", r.String())
	}
}

// TestDamageIsNamed changes every byte of a record that was on the disk, in the
// middle and at the end.
func TestDamageIsNamed(t *testing.T) {
	t.Parallel()
	f := fill(t, 5, true)
	for _, e := range []Entry{f.entries[4], f.entries[len(f.entries)-1]} {
		for n := e.At.offset(); n < e.Next.offset(); n++ {
			dir := f.copyWith(t, e.At, func(b []byte) []byte {
				b[n] ^= 0x10
				return b
			})
			if r := f.verify(t, dir); r.OK() || r.Bad.Seq != e.Seq {
				t.Fatalf("byte %d of record %d changed: %s, want it named", n-e.At.offset(), e.Seq, r.String())
			}
		}
	}
}

// TestALostSegmentIsNamed removes a segment from the middle, and the newest.
func TestALostSegmentIsNamed(t *testing.T) {
	t.Parallel()
	f := fill(t, 100, true)
	second := f.entries[0]
	for _, e := range f.entries {
		if e.At.segment() == 2 {
			second = e
			break
		}
	}
	dir := f.copyWith(t, second.At, func(b []byte) []byte { return b })
	if err := os.Remove(filepath.Join(dir, segmentName(2))); err != nil {
		t.Fatal(err)
	}
	if r := f.verify(t, dir); r.OK() || r.Bad.Seq != second.Seq {
		t.Errorf("Verify: %s, want record %d bad", r.String(), second.Seq)
	}
	for n := f.view.End.segment(); n < f.view.End.segment()+2; n++ {
		_ = os.Remove(filepath.Join(dir, segmentName(n)))
	}
	if _, err := Open(dir, f.id, 0, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open without the newest segment = %v, want ErrDamaged", err)
	}
}

func TestOpenRefusesAnotherLog(t *testing.T) {
	t.Parallel()
	f := fill(t, 1, true)
	if _, err := Open(f.dir, NewID(), 0, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open of another log = %v, want ErrDamaged", err)
	}
	if _, err := Open(f.dir+"-gone", f.id, 0, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open of a folder that is not there = %v, want ErrDamaged", err)
	}
	dir := f.copyWith(t, f.entries[0].At, func(b []byte) []byte { return b })
	if err := os.WriteFile(filepath.Join(dir, baseName), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, f.id, 0, nil); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("Open without a base = %v, want ErrDamaged", err)
	}
}

// TestAPruningThatWasCutOff leaves the base of a pruning and none of its work: the
// next opening finishes it.
func TestAPruningThatWasCutOff(t *testing.T) {
	t.Parallel()
	f := fill(t, 100, true)
	pruned := filepath.Join(t.TempDir(), "log")
	if err := os.CopyFS(pruned, os.DirFS(f.dir)); err != nil {
		t.Fatal(err)
	}
	c := openLog(t, pruned, f.id)
	cut := f.entries[120]
	if _, err := audit.Prune(t.Context(), c, audittest.NewKey(t, "key"), time.Unix(0, cut.Time+1)); err != nil {
		t.Fatal(err)
	}
	b, err := readBase(pruned)
	if err != nil || b.Checkpoint == nil || b.Checkpoint.Seq < cut.Seq || !b.Clean {
		t.Fatalf("base = %+v, %v, want it behind record %d", b, err, cut.Seq)
	}
	b.Clean = false
	if err := writeBase(f.dir, &b); err != nil {
		t.Fatal(err)
	}
	again := openLog(t, f.dir, f.id)
	wantRecords(t, again, int64(len(f.entries))-b.Checkpoint.Seq, &f.view.Head)
	if b, err = readBase(f.dir); err != nil || !b.Clean {
		t.Errorf("base = %+v, %v, want it clean", b, err)
	}
	for _, e := range f.entries[:b.Checkpoint.Seq] {
		if s, err := again.openSegment(e.At.segment()); err == nil {
			text := make([]byte, e.Next.offset()-e.At.offset())
			if _, err := s.file.ReadAt(text, e.At.offset()); err == nil && hasText(text) {
				t.Fatalf("record %d is still in the file", e.Seq)
			}
			_ = s.file.Close()
		}
	}
}

func hasText(b []byte) bool {
	for _, c := range b {
		if c > prunedWord {
			return true
		}
	}
	return false
}

// TestB13_AFailedSyncStaysFailed: the system forgets what it could not write.
func TestB13_AFailedSyncStaysFailed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	l, err := Open(dir, logIn(t, dir), 0, small())
	if err != nil {
		t.Fatal(err)
	}
	c := chain{l}
	log := audittest.NewLog(t, c)
	if err := log.Record(t.Context(), audittest.NewEvent(audit.KindIntent, "c")); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	good := l.tail.seg.file
	// A pipe can be brought to no disk.
	l.mu.Lock()
	l.tail.seg.file = write
	l.tail.synced = 0
	l.mu.Unlock()
	for _, f := range []*os.File{write, good} {
		l.mu.Lock()
		l.tail.seg.file = f
		err := l.syncTail()
		l.mu.Unlock()
		if err == nil {
			t.Error("Sync = no error")
		}
	}
	if err := log.Record(t.Context(), audittest.NewEvent(audit.KindIntent, "d")); err == nil {
		t.Error("Record after a failed sync = no error")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
