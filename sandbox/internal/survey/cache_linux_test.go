package survey

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// makeStable waits until the newest directory of a tree is old enough to be
// remembered. There is no way to make a change time older.
func makeStable(t testing.TB, dir string) {
	t.Helper()
	for {
		var st unix.Stat_t
		must(t, unix.Lstat(dir, &st))
		age := time.Since(time.Unix(st.Ctim.Unix()))
		if age > stableAfter+50*time.Millisecond {
			return
		}
		time.Sleep(stableAfter + 100*time.Millisecond - age)
	}
}

func (c *cache) entries() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey)
}

func TestADirectoryThatHasSettledIsRememberedUntilItChanges(t *testing.T) {
	top := plant(t, "ws/a/b/x", "ws/a/y")
	s, floor, ws := New(), denyfloor.New(nil), []string{filepath.Join(top, "ws")}
	survey := func() []string {
		t.Helper()
		got, err := s.Floor(t.Context(), floor, ws, nil)
		must(t, err)
		return summarizeMasks(top, got)
	}
	survey()
	if n := s.cache.entries(); n != 0 {
		t.Fatalf("%d directories are remembered although they changed just now", n)
	}
	makeStable(t, filepath.Join(top, "ws/a/b"))
	survey()
	if n := s.cache.entries(); n != 3 {
		t.Fatalf("%d directories are remembered, want 3", n)
	}
	// Remembered listings are what is used: one that lies is believed.
	key := dirKey{floor, surveyedDir{ws[0] + "/a/b", ws[0] + "/a/b"}, false}
	s.cache.byKey[key].Value.(*cacheEntry).l.hits = []floorHit{{name: "lie"}}
	if diff := cmp.Diff([]string{"f ws/a/b/lie"}, survey()); diff != "" {
		t.Errorf("a warm survey reads directories again:\n%s", diff)
	}
	plantOne(t, top, "ws/a/b/.netrc")
	if diff := cmp.Diff([]string{"f ws/a/b/.netrc"}, survey()); diff != "" {
		t.Errorf("a new entry is not seen:\n%s", diff)
	}
	must(t, os.Remove(filepath.Join(top, "ws/a/b/.netrc")))
	if got := survey(); got != nil {
		t.Errorf("after the removal: %v", got)
	}
}

func TestWhatIsRememberedBelongsToOneFloorPathAndDirection(t *testing.T) {
	top := plant(t, "ws/sub/.git/config", "ws/sub/own")
	s := New()
	plain := denyfloor.New(nil)
	own := denyfloor.New(&sallyport.FileBackend{Deny: []string{filepath.Join(top, "ws/sub/own")}})
	makeStable(t, filepath.Join(top, "ws/sub/.git"))
	ws := []string{filepath.Join(top, "ws")}
	for range 2 {
		for _, tt := range []struct {
			floor       *denyfloor.Floor
			read, write []string
			want        int
		}{{plain, ws, nil, 0}, {plain, nil, ws, 1}, {own, ws, nil, 1}, {own, nil, ws, 2}} {
			got, err := s.Floor(t.Context(), tt.floor, tt.read, tt.write)
			must(t, err)
			if len(got) != tt.want {
				t.Errorf("Floor(%v, %v) = %v, want %d masks", tt.read, tt.write, got, tt.want)
			}
		}
	}
	// The names of the entries are the same, and so is the directory.
	must(t, os.Rename(filepath.Join(top, "ws/sub"), filepath.Join(top, "ws/.ssh")))
	got, err := s.Floor(t.Context(), plain, ws, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"d ws/.ssh"}, summarizeMasks(top, got)); diff != "" {
		t.Errorf("after a rename:\n%s", diff)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var tree []string
	for i := range 50 {
		tree = append(tree, fmt.Sprintf("ws/d%02d/.netrc", i))
	}
	top := plant(t, tree...)
	makeStable(t, filepath.Join(top, "ws/d49"))
	for _, size := range []int64{-1, 4096} {
		s := New()
		s.cache = newCache(size)
		for range 2 {
			got, err := s.Floor(t.Context(), denyfloor.New(nil), []string{top}, nil)
			if err != nil || len(got) != 50 {
				t.Errorf("with %d bytes: %d masks, %v; want 50", size, len(got), err)
			}
		}
		if s.cache.size > max(size, 0) || s.cache.entries() > 10 || s.cache.order.Len() != s.cache.entries() {
			t.Errorf("with %d bytes: %d bytes in %d entries", size, s.cache.size, s.cache.entries())
		}
	}
}

func TestSurveysRunSideBySide(t *testing.T) {
	top := plant(t, "ws/a/.netrc", "ws/b/c/.ssh/k", "ws/d/e/f/g")
	makeStable(t, filepath.Join(top, "ws/d/e/f"))
	s, floor := New(), denyfloor.New(nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := s.Floor(t.Context(), floor, []string{top}, nil)
				if err != nil || len(got) != 2 {
					t.Errorf("Floor() = %v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for i := range 100 {
			p := filepath.Join(top, "ws/d", fmt.Sprint(i))
			must(t, os.Mkdir(p, 0o755))
			must(t, os.Remove(p))
		}
	})
	wg.Wait()
}

func benchTree(b *testing.B) string {
	b.Helper()
	var tree []string
	for i := range 500 {
		for j := range 20 {
			tree = append(tree, fmt.Sprintf("ws/pkg%02d/mod%02d/file%02d.go", i/25, i%25, j))
		}
	}
	return plant(b, append(tree, "ws/.git/hooks/x", "ws/.git/config")...)
}

// BenchmarkFloor surveys 10,000 files in 520 directories.
func BenchmarkFloor(b *testing.B) {
	top := benchTree(b)
	makeStable(b, filepath.Join(top, "ws/.git/hooks"))
	makeStable(b, filepath.Join(top, "ws/pkg19"))
	floor := denyfloor.New(nil)
	run := func(b *testing.B, s *Surveyor) {
		if got, err := s.Floor(b.Context(), floor, nil, []string{top}); err != nil || len(got) != 2 {
			b.Fatal(got, err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			run(b, New())
		}
	})
	b.Run("warm", func(b *testing.B) {
		s := New()
		run(b, s)
		b.ReportAllocs()
		for b.Loop() {
			run(b, s)
		}
	})
}

// BenchmarkWritten looks at 10,000 files.
func BenchmarkWritten(b *testing.B) {
	top := benchTree(b)
	s, now := New(), time.Now().Add(time.Hour)
	for b.Loop() {
		if got, more := s.Changed(b.Context(), []string{top}, now, 10); len(got) > 0 || more {
			b.Fatal(got, more)
		}
	}
}
