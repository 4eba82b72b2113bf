package anchor

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// began is the time of every record, so that the same calls seal to the same hashes.
var began = time.Now().Add(-time.Minute).UTC().Truncate(time.Second)

// chain is a record in memory, with its key.
type chain struct {
	*memory.Store
	key audit.Key
}

func newKey(t *testing.T, b byte) audit.Key {
	t.Helper()
	key, err := audit.NewKey(bytes.Repeat([]byte{b}, audit.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// newChain returns a record of calls of these tools, sealed with a key.
func newChain(t *testing.T, key audit.Key, tools ...string) chain {
	t.Helper()
	s, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := chain{s, key}
	c.add(t, tools...)
	return c
}

func (c chain) add(t *testing.T, tools ...string) {
	t.Helper()
	c.addAt(t, began, tools...)
}

func (c chain) addAt(t *testing.T, at time.Time, tools ...string) {
	t.Helper()
	log, err := audit.New(c.Store, c.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		e := &audit.Event{Kind: audit.KindOutcome, CallID: tool, Tool: output.Plain().Text(tool), Time: at, OK: true}
		if err := log.Record(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// anchor adds the present head to a file.
func (c chain) anchor(t *testing.T, path string) Entry {
	t.Helper()
	e, err := AppendTo(path, func() (Entry, error) {
		head, err := audit.Settled(t.Context(), c.Store)
		return NewEntry(head, c.key.ID(), time.Now()), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// compare verifies the record and compares it with a file.
func (c chain) compare(t *testing.T, path string) (audit.Report, Result) {
	t.Helper()
	entries, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := NewCheck(entries, c.key.ID())
	report, err := audit.Verify(t.Context(), check.Watch(c.Store), c.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return report, check.Compare(&report)
}

func TestAnchorsProveTheRecord(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a", "b")
	c.anchor(t, path)
	c.anchor(t, path) // the same head has one line
	c.add(t, "c", "d")
	c.anchor(t, path)
	c.add(t, "e")
	_, r := c.compare(t, path)
	if !r.OK() || r.Anchors != 2 || r.Proven != 2 {
		t.Errorf("the result is %+v (%s)", r, &r)
	}
}

// What is appended can be compared: a file with as many lines as are read gets no more.
func TestAFullFileGetsNoMoreLines(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a")
	c.anchor(t, path)
	last, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	next := Entry{Seq: 2, Hash: audit.Hash{1}, Time: time.Unix(1, 0), KeyID: c.key.ID()}
	for lines, full := range map[int]bool{maxLines - 1: false, maxLines: true} {
		// The lines before the last one are short, and a hole makes them as long as real ones.
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(strings.Repeat("\n", lines-2))
		_, err2 := file.WriteAt([]byte("\n"+string(last)), maxLines*minLine)
		if err = errors.Join(err, err2, file.Close()); err != nil {
			t.Fatal(err)
		}
		_, err = AppendTo(path, func() (Entry, error) { return next, nil })
		if got := err != nil && strings.Contains(err.Error(), "has 1048576 lines and is full: go on in another file"); got != full || !full && err != nil {
			t.Errorf("a line behind %d: %v", lines, err)
		}
		if _, err := AppendTo(path, func() (Entry, error) { return next, nil }); !full && err != nil {
			t.Errorf("the last line of a full file: %v", err)
		}
	}
}

// Who holds the key writes a chain that verifies, and not one that was anchored before.
func TestARewrittenPastIsFound(t *testing.T) {
	t.Parallel()
	key := newKey(t, 1)
	for _, tt := range []struct {
		name  string
		other chain
		line  int
		why   string
	}{
		{"another call", newChain(t, key, "a", "x", "c", "d"), 1, "was rewritten"},
		{"another call between two anchors", newChain(t, key, "a", "b", "x", "d"), 2, "was rewritten"},
		{"the end cut off", newChain(t, key, "a", "b", "c"), 2, "is missing: the good chain ends at 3"},
		{"longer than before", newChain(t, key, "a", "x", "c", "d", "e", "f"), 1, "was rewritten"},
		{"begun anew with another key", newChain(t, newKey(t, 2), "a", "b", "c", "d"), 1, "of another record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "anchors.jsonl")
			c := newChain(t, key, "a", "b")
			c.anchor(t, path)
			c.add(t, "c", "d")
			c.anchor(t, path)
			report, r := tt.other.compare(t, path)
			if !report.OK() {
				t.Fatalf("the chain of the operator is bad: %s", &report)
			}
			if r.OK() || r.Bad.Line != tt.line || !strings.Contains(r.Bad.Why, tt.why) {
				t.Errorf("the result is %s, want anchor %d that %s", &r, tt.line, tt.why)
			}
		})
	}
}

// An older state that was brought back for a time, and then taken away again, shows.
func TestARecordThatWasSetBackIsFound(t *testing.T) {
	t.Parallel()
	c := newChain(t, newKey(t, 1), "a", "b", "c")
	var heads []audit.Head
	for rec, err := range c.Read(t.Context(), audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, rec.Head())
	}
	compare := func(later time.Duration) Result {
		now := time.Now()
		check := NewCheck([]Entry{NewEntry(heads[2], c.key.ID(), now), NewEntry(heads[0], c.key.ID(), now.Add(later))}, c.key.ID())
		report, err := audit.Verify(t.Context(), check.Watch(c.Store), c.key, nil)
		if err != nil {
			t.Fatal(err)
		}
		return check.Compare(&report)
	}
	if r := compare(time.Hour); r.OK() || !strings.Contains(r.Bad.Why, "set back") {
		t.Errorf("a head of before that came an hour later: %s", &r)
	}
	if r := compare(time.Second); !r.OK() || r.Proven != 2 {
		t.Errorf("two processes that anchored at once: %s", &r)
	}
}

func TestPrunedAnchorsProveNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a", "b")
	c.anchor(t, path)
	c.add(t, "c")
	c.anchor(t, path)
	c.add(t, "d")
	prune := func() {
		t.Helper()
		if _, err := audit.Prune(t.Context(), c.Store, c.key, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	prune() // up to d, so that both anchors stand for pruned records
	if _, r := c.compare(t, path); r.OK() || !strings.Contains(r.Bad.Why, "everything that was anchored is pruned") {
		t.Errorf("with all anchors pruned: %s", &r)
	}
	c.add(t, "e")
	c.anchor(t, path)
	c.add(t, "f")
	if _, r := c.compare(t, path); !r.OK() || r.Proven != 1 || r.Pruned != 2 {
		t.Errorf("with one anchor that is left: %+v", r)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	key := newKey(t, 1)
	c := newChain(t, key, "a")
	dir := t.TempDir()
	link, other, torn, text := filepath.Join(dir, "link"), filepath.Join(dir, "other"), filepath.Join(dir, "torn"), filepath.Join(dir, "text")
	newChain(t, newKey(t, 2), "a").anchor(t, other)
	if err := errors.Join(os.Symlink(other, link), os.WriteFile(torn, []byte(`{"seq":1`), 0o600), os.WriteFile(text, []byte("notes\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		link: "not a regular file", other: "of another record", torn: "cut off", text: "not an anchor", dir: "not a regular file",
		filepath.Join(dir, "no", "such"): "no such file",
	} {
		before, _ := os.ReadFile(path)
		_, err := AppendTo(path, func() (Entry, error) {
			head, err := audit.Newest(t.Context(), c.Store)
			return NewEntry(head, key.ID(), time.Now()), err
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
			t.Errorf("%s was changed to %q", path, after)
		}
	}
}

// Of several processes at once, the one that looks later writes later.
func TestLinesStandInTheOrderOfHeads(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "anchors.jsonl")
	key, n := newKey(t, 1), int64(0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, err := AppendTo(path, func() (Entry, error) {
				n++ // the lock of the file guards it
				return NewEntry(audit.Head{Seq: n, Hash: audit.Hash{byte(n)}}, key.ID(), time.Now()), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := ReadFile(path)
	if err != nil || len(list) != 8 {
		t.Fatalf("%d lines, %v", len(list), err)
	}
	for i, e := range list {
		if e.Seq != int64(i+1) {
			t.Errorf("line %d is of record %d", i+1, e.Seq)
		}
	}
}

func TestLinesThatAreNoAnchors(t *testing.T) {
	t.Parallel()
	good := `{"seq":1,"hash":"` + strings.Repeat("ab", 32) + `","time":"2026-11-26T12:00:00Z","key_id":"k"}`
	if list, err := ReadEntries(strings.NewReader(good + "\n")); err != nil || len(list) != 1 {
		t.Fatalf("a good line: %v", err)
	}
	for _, line := range []string{
		"", "{}", good + " x", strings.Replace(good, `"seq":1`, `"seq":0`, 1), strings.Replace(good, `"key_id":"k"`, `"key_id":""`, 1),
		strings.Replace(good, `"seq"`, `"more":1,"seq"`, 1), strings.Replace(good, "abab", "ab", 1), strings.Repeat(" ", maxLine) + good,
	} {
		if _, err := ReadEntries(strings.NewReader(good + "\n" + line + "\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.60q: %v, want an error about line 2", line, err)
		}
	}
}

// failing is a record that cannot be read to its end.
type failing struct{ audit.Reader }

func (f failing) Read(ctx context.Context, q audit.Query) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		for rec, err := range f.Reader.Read(ctx, q) {
			if !yield(rec, err) {
				return
			}
		}
		yield(audit.Record{}, errors.New("the disk is gone"))
	}
}

func TestAnErrorOfTheRecordStaysOne(t *testing.T) {
	t.Parallel()
	c := newChain(t, newKey(t, 1), "a")
	check := NewCheck(nil, c.key.ID())
	if _, err := audit.Verify(t.Context(), check.Watch(failing{c.Store}), c.key, nil); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
		t.Errorf("the error is %v", err)
	}
}
