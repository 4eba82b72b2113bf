package scoped

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// pathCase is one case of testdata/fs/paths.json.
type pathCase struct {
	ID     string      `json:"id"`
	Setup  []setupStep `json:"setup"`
	Read   []string    `json:"read"`
	Write  []string    `json:"write"`
	Op     string      `json:"op"`
	Path   string      `json:"path"`
	To     string      `json:"to"`
	Body   string      `json:"content"`
	Result any         `json:"result"`
	Expect string      `json:"expect"`
	Alt    string      `json:"alt_expect"`
	Same   string      `json:"same_error_as"`
	Not    string      `json:"not_content"`
	MaxMS  int         `json:"max_ms"`
	MaxRSS uint64      `json:"max_rss_mb"`
	Needs  []string    `json:"needs"`
	Choice bool        `json:"design_choice"`
	DryRun bool        `json:"dry_run_without_root"`
	After  struct {
		Absent  []string          `json:"absent"`
		Content map[string]string `json:"content"`
	} `json:"after"`
	Race *struct {
		Swap, Move     []string
		Iterations     int
		NeverContains  string   `json:"never_contains"`
		NeverCreatedIn []string `json:"never_created_in"`
	} `json:"race"`
	Group string `json:"group"`
	Why   string `json:"why"`
}

type setupStep struct {
	Do, Path, Content, Target string
	Size                      int64
	Major, Minor              uint32
}

func TestPathVectors(t *testing.T) {
	for _, c := range loadCases[pathCase](t, "testdata/fs/paths.json") {
		t.Run(c.ID, func(t *testing.T) { runPathCase(t, c) })
	}
}

func runPathCase(t *testing.T, c pathCase) {
	if slices.Contains(c.Needs, "rename") {
		t.Skip("the accessor has no rename: sallyport.FS offers WriteFile, UpdateFile and MkdirAll")
	}
	if slices.Contains(c.Needs, "root") && os.Getuid() != 0 {
		t.Skip("needs root to make a device node")
	}
	dir := realTempDir(t)
	home := filepath.Join(dir, "home")
	cfg := filepath.Join(home, ".runtime")
	expand := strings.NewReplacer("$T", dir, "$HOME", home, "$CFG", cfg).Replace
	for _, s := range c.Setup {
		setUp(t, s, expand)
	}
	grant := sallyport.FSGrant{Read: expandAll(c.Read, expand), Write: expandAll(c.Write, expand)}
	backend := &sallyport.FileBackend{
		Home: home,
		Deny: []string{filepath.Join(cfg, "config.yaml"), filepath.Join(cfg, "audit.db")},
	}
	f, err := newFileReach(grant, backend)
	if err != nil {
		t.Fatal(err)
	}
	defer f.closeEntries()
	fsys := f.bindCall(t.Context(), filepath.Join(dir, "ws"), "s", nil)
	if c.Race != nil {
		runRace(t, c, fsys, expand)
		return
	}
	start := time.Now()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := operate(fsys, c.Op, expand(c.Path), c.Body)
	runtime.ReadMemStats(&after)
	if took := time.Since(start); c.MaxMS > 0 && took > time.Duration(c.MaxMS)*time.Millisecond {
		t.Errorf("%s took %v, want at most %d ms", c.Op, took, c.MaxMS)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; c.MaxRSS > 0 && used > c.MaxRSS {
		t.Errorf("%s allocated %d MB, want at most %d", c.Op, used, c.MaxRSS)
	}
	checkOutcome(t, c, got, err)
	if c.Same != "" {
		_, other := operate(fsys, c.Op, expand(c.Same), c.Body)
		if a, b := strings.ReplaceAll(err.Error(), expand(c.Path), "P"), strings.ReplaceAll(other.Error(), expand(c.Same), "P"); a != b {
			t.Errorf("error = %q, for another path %q, want the same", a, b)
		}
	}
	checkAfter(t, c, expand)
}

func checkOutcome(t *testing.T, c pathCase, got any, err error) {
	t.Helper()
	if c.Result == "not_found" {
		if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("%s(%s) error = %v, want not found", c.Op, c.Path, err)
		}
		return
	}
	allowed := err == nil
	switch want := c.Expect == "allow"; {
	case allowed != want && !(c.Alt == "allow" && allowed || c.Alt == "deny" && !allowed):
		t.Errorf("%s(%s) = %v, %v, want %s: %s", c.Op, c.Path, got, err, c.Expect, c.Why)
	case allowed && c.Result != nil && !same(got, c.Result):
		t.Errorf("%s(%s) = %q, want %q", c.Op, c.Path, got, c.Result)
	}
	if s, ok := got.(string); ok && c.Expect == "deny" && c.Alt == "" && strings.Contains(s, "SECRET") || c.Not != "" && strings.Contains(s, c.Not) {
		t.Errorf("%s(%s) returned the secret", c.Op, c.Path)
	}
	if err != nil && strings.Contains(err.Error(), "SECRET") {
		t.Errorf("%s(%s) error = %v, which holds the secret", c.Op, c.Path, err)
	}
}

func same(got, want any) bool {
	list, ok := want.([]any)
	if !ok {
		return got == want
	}
	return slices.EqualFunc(list, got.([]string), func(a any, b string) bool { return a == b })
}

func checkAfter(t *testing.T, c pathCase, expand func(string) string) {
	t.Helper()
	for _, p := range c.After.Absent {
		if _, err := os.Lstat(expand(p)); err == nil {
			t.Errorf("%s exists after %s(%s)", p, c.Op, c.Path)
		}
	}
	for p, want := range c.After.Content {
		if got, err := os.ReadFile(expand(p)); err != nil || string(got) != want {
			t.Errorf("%s = %q, %v after %s(%s), want %q", p, got, err, c.Op, c.Path, want)
		}
	}
}

func setUp(t *testing.T, s setupStep, expand func(string) string) {
	t.Helper()
	path := expand(s.Path)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		t.Fatal(err)
	}
	switch s.Do {
	case "mkdir":
		err = os.MkdirAll(path, 0o755)
	case "file":
		err = os.WriteFile(path, []byte(s.Content), 0o644)
	case "symlink":
		err = os.Symlink(expand(s.Target), path)
	case "hardlink":
		err = os.Link(expand(s.Target), path)
	case "fifo":
		err = syscall.Mkfifo(path, 0o644)
	case "sparse":
		if err = os.WriteFile(path, nil, 0o644); err == nil {
			err = os.Truncate(path, s.Size)
		}
	case "mknod_char":
		err = syscall.Mknod(path, syscall.S_IFCHR|0o666, int(unix.Mkdev(s.Major, s.Minor)))
	default:
		t.Fatalf("unknown setup step %q", s.Do)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runRace repeats the operation while another goroutine exchanges what is
// behind its name.
func runRace(t *testing.T, c pathCase, fsys sallyport.FS, expand func(string) string) {
	var stop atomic.Bool
	var swaps atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for !stop.Load() {
			if c.Race.Swap != nil {
				_ = unix.Renameat2(unix.AT_FDCWD, expand(c.Race.Swap[0]), unix.AT_FDCWD, expand(c.Race.Swap[1]), unix.RENAME_EXCHANGE)
			} else {
				_ = os.Rename(expand(c.Race.Move[0]), expand(c.Race.Move[1]))
				_ = os.Rename(expand(c.Race.Move[1]), expand(c.Race.Move[0]))
			}
			swaps.Add(1)
		}
	})
	before := names(t, c.Race.NeverCreatedIn, expand)
	allowed, refused := 0, 0
	for range c.Race.Iterations {
		got, err := operate(fsys, c.Op, expand(c.Path), c.Body)
		if err == nil {
			allowed++
		} else {
			refused++
		}
		if s, ok := got.(string); ok && strings.Contains(s, c.Race.NeverContains) {
			t.Fatalf("%s(%s) = %q, which lies outside", c.Op, c.Path, s)
		}
	}
	stop.Store(true)
	wg.Wait()
	t.Logf("%d allowed, %d refused, %d exchanges", allowed, refused, swaps.Load())
	if after := names(t, c.Race.NeverCreatedIn, expand); !slices.Equal(before, after) {
		t.Errorf("outside = %q after the race, want %q", after, before)
	}
}

func names(t *testing.T, dirs []string, expand func(string) string) []string {
	t.Helper()
	var out []string
	for _, d := range dirs {
		entries, err := os.ReadDir(expand(d))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			out = append(out, e.Name())
		}
	}
	return out
}
