//go:build unix

package recordlog

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRecordsInAMappingAreThoseOfTheFile has another process read what one writes into
// its mapping, over the ends of several segments.
func TestRecordsInAMappingAreThoseOfTheFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	id := logIn(t, dir)
	busy, other := openLog(t, dir, id), openLog(t, dir, id)
	mapped := false
	for busy.tail.seg.number < 4 {
		keepLock(t, busy.Log)
		if err := addRecords(t, busy.Log, 1, 1000); err != nil {
			t.Fatal(err)
		}
		if v, err := other.View(t.Context()); err != nil || v.Head != busy.tail.head {
			t.Fatalf("another process sees record %d (%v), want %d", v.Head.Seq, err, busy.tail.head.Seq)
		}
		mapped = mapped || busy.tail.seg.mapped != nil
	}
	if !mapped {
		t.Error("no segment was mapped")
	}
}

// TestASegmentThatIsCutIsAnError, and no fault that ends the program.
func TestASegmentThatIsCutIsAnError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	l := openLog(t, dir, logIn(t, dir)).Log
	keepLock(t, l)
	if err := os.Truncate(filepath.Join(dir, segmentName(l.tail.seg.number)), 0); err != nil {
		t.Fatal(err)
	}
	if err := l.tail.seg.write(make([]byte, 100), l.tail.off, true); err == nil {
		t.Error("what is behind the end of the file was written")
	}
	l.mu.Lock()
	l.unmarked = false // nothing is left to bring to the disk
	l.mu.Unlock()
}
