package scoped

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

// readMap is a ReadMemory for tests.
type readMap struct {
	mu      sync.Mutex
	records map[string][]sallyport.ReadRecord
	fail    error
}

func (m *readMap) Remember(_ context.Context, session string, r sallyport.ReadRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	if m.records == nil {
		m.records = make(map[string][]sallyport.ReadRecord)
	}
	m.records[session] = append(m.records[session], r)
	return nil
}

func (m *readMap) Recall(_ context.Context, session, path, identity string) (r sallyport.ReadRecord, ok bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, have := range m.records[session] {
		if have.Path == path || identity != "" && have.Identity == identity {
			r, ok = have, true
		}
	}
	return r, ok, m.fail
}

// staleStory is a folder with a file f, its hard link h and a link l, seen by
// two sessions.
type staleStory struct {
	t          *testing.T
	dir        string
	mem        *readMap
	one, other sallyport.FS
}

func newStaleStory(t *testing.T) *staleStory {
	dir := tree(t, map[string]string{"f": "old", "l": "->f"})
	if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "h")); err != nil {
		t.Fatal(err)
	}
	mem := &readMap{}
	f := reachOf(t, dir, []string{"."}, []string{"."}, &sallyport.FileBackend{Reads: mem})
	return &staleStory{
		t: t, dir: dir, mem: mem,
		one: f.bindCall(t.Context(), dir, "one", nil), other: f.bindCall(t.Context(), dir, "other", nil),
	}
}

func (s *staleStory) do(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *staleStory) read(name string) {
	s.t.Helper()
	_, err := s.one.ReadFile(name)
	s.do(err)
}

// outside changes a file without an accessor, in place.
func (s *staleStory) outside(name, data string) {
	s.t.Helper()
	s.do(os.WriteFile(filepath.Join(s.dir, name), []byte(data), 0o644))
}

func TestStaleWrite(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		before func(s *staleStory)
		write  string
		stale  string // a part of the text; empty for none
	}{
		{"read and write", func(s *staleStory) { s.read("f") }, "f", ""},
		{"never read", func(s *staleStory) { s.outside("f", "new") }, "f", ""},
		{"never read, new", func(*staleStory) {}, "n", ""},
		{"changed", func(s *staleStory) { s.read("f"); s.outside("f", "new") }, "f", "has changed since"},
		{"changed, same length and times", func(s *staleStory) {
			s.read("f")
			info, err := os.Stat(filepath.Join(s.dir, "f"))
			s.do(err)
			s.outside("f", "dlo")
			s.do(os.Chtimes(filepath.Join(s.dir, "f"), info.ModTime(), info.ModTime()))
		}, "f", "has changed since"},
		{"touched", func(s *staleStory) {
			s.read("f")
			later := time.Now().Add(2 * time.Second)
			s.do(os.Chtimes(filepath.Join(s.dir, "f"), later, later))
		}, "f", ""},
		{"replaced with the same content", func(s *staleStory) {
			s.read("f")
			s.outside("tmp", "old")
			s.do(os.Rename(filepath.Join(s.dir, "tmp"), filepath.Join(s.dir, "f")))
		}, "f", ""},
		{"replaced with other content", func(s *staleStory) {
			s.read("f")
			s.outside("tmp", "new")
			s.do(os.Rename(filepath.Join(s.dir, "tmp"), filepath.Join(s.dir, "f")))
		}, "f", "has changed since"},
		{"vanished", func(s *staleStory) { s.read("f"); s.do(os.Remove(filepath.Join(s.dir, "f"))) }, "f", "no longer exists"},
		{"vanished behind the link", func(s *staleStory) { s.read("l"); s.do(os.Remove(filepath.Join(s.dir, "f"))) }, "l", "no longer exists"},
		{"read again", func(s *staleStory) { s.read("f"); s.outside("f", "new"); s.read("f") }, "f", ""},
		{"own write", func(s *staleStory) { s.read("f"); s.do(s.one.WriteFile("f", []byte("mine"))) }, "f", ""},
		{"changed after own write", func(s *staleStory) { s.do(s.one.WriteFile("f", []byte("mine"))); s.outside("f", "new") }, "f", "has changed since"},
		{"written by another session", func(s *staleStory) { s.read("f"); s.do(s.other.WriteFile("f", []byte("theirs"))) }, "f", "has changed since"},
		{"read by another session only", func(s *staleStory) {
			_, err := s.other.ReadFile("f")
			s.do(err)
			s.outside("f", "new")
		}, "f", ""},
		{"read by name, written by link", func(s *staleStory) { s.read("f"); s.outside("f", "new") }, "l", "has changed since"},
		{"read by link, written by name", func(s *staleStory) { s.read("l"); s.outside("f", "new") }, "f", "has changed since"},
		{"read by name, written by hard link", func(s *staleStory) { s.read("f"); s.outside("f", "new") }, "h", "has changed since"},
		{"only described", func(s *staleStory) {
			_, err := s.one.Stat("f")
			s.do(err)
			file, err := s.one.Open("f")
			s.do(err)
			s.do(file.Close())
			s.outside("f", "new")
		}, "f", ""},
		{"another file on the same inode", func(s *staleStory) {
			// Whether the number is used again is the file system's affair;
			// the birth time tells the two apart when it is.
			s.outside("x", "one")
			s.read("x")
			s.do(os.Remove(filepath.Join(s.dir, "x")))
			s.outside("y", "two")
		}, "y", ""},
	}
	for _, tt := range tests {
		for _, how := range []string{"write", "update"} {
			if how == "update" && strings.HasSuffix(tt.name, "new") {
				continue // There is nothing to update.
			}
			t.Run(how+"/"+tt.name, func(t *testing.T) {
				s := newStaleStory(t)
				tt.before(s)
				var err error
				if how == "write" {
					err = s.one.WriteFile(tt.write, []byte("next"))
				} else {
					err = s.one.UpdateFile(tt.write, func([]byte) ([]byte, error) { return []byte("next"), nil })
				}
				if tt.stale == "" {
					if got, _ := os.ReadFile(filepath.Join(s.dir, tt.write)); err != nil || string(got) != "next" {
						t.Errorf("%s = %v, content %q, want next", how, err, got)
					}
					return
				}
				if !errors.Is(err, sallyport.ErrStaleWrite) || !strings.Contains(err.Error(), tt.stale) ||
					!strings.HasPrefix(err.Error(), filepath.Join(s.dir, tt.write)+" was read at 2") {
					t.Errorf("%s = %v, want a stale write: %s", how, err, tt.stale)
				}
				if got, _ := os.ReadFile(filepath.Join(s.dir, tt.write)); string(got) == "next" {
					t.Errorf("a stale %s changed the file", how)
				}
				leftovers(t, s.dir)
			})
		}
	}
}

func TestWritesNeedTheReadMemory(t *testing.T) {
	t.Parallel()
	s := newStaleStory(t)
	s.mem.fail = errors.New("state is locked: /srv/state.db")
	if got, err := s.one.ReadFile("f"); err != nil || string(got) != "old" {
		t.Errorf("ReadFile that cannot be remembered = %q, %v, want the content: reading changes nothing", got, err)
	}
	if err := s.one.WriteFile("f", []byte("new")); err == nil {
		t.Error("WriteFile that cannot be checked = nil, want an error")
	}
	if got, _ := os.ReadFile(filepath.Join(s.dir, "f")); string(got) != "old" {
		t.Errorf("f = %q, want it unchanged", got)
	}
}

// staleCase is a case of the area stale_write in testdata/fs/behaviour.json.
type staleCase struct {
	Area, Name string
	Input      struct{ Steps []string }
	Expect     struct {
		OK   bool
		Code sallyport.Code
	}
}

func TestStaleBehaviour(t *testing.T) {
	t.Parallel()
	for _, c := range loadCases[staleCase](t, "testdata/fs/behaviour.json") {
		if c.Area != "stale_write" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			dir := tree(t, map[string]string{"f": "old"})
			path := filepath.Join(dir, "f")
			b := &sallyport.FileBackend{Reads: &readMap{}}
			if strings.Contains(c.Input.Steps[0], "no map") {
				b.Reads = nil
			}
			fsys := bindTo(t, reachOf(t, dir, []string{"."}, []string{"."}, b), dir)
			var err error
			for _, step := range c.Input.Steps {
				switch {
				case strings.HasPrefix(step, "touch f +2s"):
					t.Skip(`the contract: "a touch alone is not stale"`)
				case strings.HasPrefix(step, "touch"):
					err = os.Chtimes(path, time.Now(), time.Now().Add(time.Hour))
				case strings.HasPrefix(step, "change"):
					err = os.WriteFile(path, []byte("new"), 0o644)
				case strings.HasPrefix(step, "read"):
					_, err = fsys.ReadFile("f")
				case strings.Contains(step, "(new)"):
					err = fsys.WriteFile("g", nil)
				default:
					err = fsys.WriteFile("f", []byte("mine"))
				}
				if err != nil {
					break
				}
			}
			e, _ := errors.AsType[*sallyport.Error](err)
			if (err == nil) != c.Expect.OK || e != nil && e.Code != c.Expect.Code {
				t.Errorf("%q = %v, want ok %v %s", c.Input.Steps, err, c.Expect.OK, c.Expect.Code)
			}
		})
	}
}

// increment adds one to the number in file n.
func increment(fsys sallyport.FS) error {
	return fsys.UpdateFile("n", func(b []byte) ([]byte, error) {
		n, err := strconv.Atoi(string(bytes.TrimSpace(b)))
		return []byte(strconv.Itoa(n + 1)), err
	})
}

// incrementsEnv makes a copy of this test a second process.
const incrementsEnv = "SALLYPORT_TEST_INCREMENTS"

// testProcess runs one test of this binary in another process.
func testProcess(t *testing.T, run string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+run, "-test.count=1")
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

func TestUpdatesAreNeverLost(t *testing.T) {
	t.Parallel()
	const each = 40
	if dir := os.Getenv(incrementsEnv); dir != "" {
		f := reachOf(t, dir, []string{"."}, []string{"."}, nil)
		for range each {
			if err := increment(bindTo(t, f, dir)); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	dir := tree(t, map[string]string{"n": "0"})
	var wg sync.WaitGroup
	for range 4 {
		// A grant of its own per goroutine: nothing in memory is shared.
		f := reachOf(t, dir, []string{"."}, []string{"."}, nil)
		fsys := bindTo(t, f, dir)
		wg.Go(func() {
			for range each {
				if err := increment(fsys); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			cmd := testProcess(t, "^TestUpdatesAreNeverLost$", incrementsEnv+"="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("second process: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "n")); string(got) != fmt.Sprint(6*each) || err != nil {
		t.Errorf("n = %q, %v after %d increments in three processes", got, err, 6*each)
	}
	leftovers(t, dir)
}

func TestWaitingForAFileEnds(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"f": "x"})
	held, err := os.Open(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if _, err := lockFile(t.Context(), held, ""); err != nil {
		t.Fatal(err)
	}
	f := reachOf(t, dir, nil, []string{"."}, nil)
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		err := f.bindCall(t.Context(), dir, "s", nil).WriteFile("f", nil)
		if err == nil || !strings.Contains(err.Error(), "another call is writing it") || time.Since(start) < lockWait {
			t.Errorf("WriteFile of a held file = %v after %v, want an error after %v", err, time.Since(start), lockWait)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		err = f.bindCall(ctx, dir, "s", nil).WriteFile("f", nil)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("WriteFile of a held file = %v after %v, want the deadline of the call", err, time.Since(start))
		}
	})
}

func TestDigestMatchesTheContent(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := hashFile(t.Context(), f); got != sha256.Sum256(data) || err != nil {
		t.Errorf("digest = %x, %v, want that of the content", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hashFile(ctx, f); !errors.Is(err, context.Canceled) {
		t.Errorf("digest after the end = %v, want the context's error", err)
	}
}

// discard is a ReadMemory that forgets.
type discard struct{}

func (discard) Remember(context.Context, string, sallyport.ReadRecord) error { return nil }

func (discard) Recall(context.Context, string, string, string) (sallyport.ReadRecord, bool, error) {
	return sallyport.ReadRecord{}, false, nil
}

// TestA19_TheMemoryKeepsNoPaths: a path may hold a secret.
func TestA19_TheMemoryKeepsNoPaths(t *testing.T) {
	t.Parallel()
	s := newStaleStory(t)
	if _, err := s.one.ReadFile("f"); err != nil {
		t.Fatal(err)
	}
	s.mem.mu.Lock()
	text := fmt.Sprintf("%+v", s.mem.records)
	s.mem.mu.Unlock()
	if strings.Contains(text, s.dir) || !strings.Contains(text, "sha256:") {
		t.Errorf("the memory holds %s, want a digest and no path", text)
	}
}
