package place

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// shelf is a ledger in memory, as a state file is one for several processes.
type shelf struct{ kept []sallyport.WritePlace }

func (s *shelf) WritePlaces(context.Context) ([]sallyport.WritePlace, error) {
	return slices.Clone(s.kept), nil
}

func (s *shelf) KeepWritePlaces(_ context.Context, list []sallyport.WritePlace) error {
	for _, w := range list {
		if !slices.ContainsFunc(s.kept, func(k sallyport.WritePlace) bool { return k.Path == w.Path }) {
			s.kept = append(s.kept, w)
		}
	}
	slices.SortFunc(s.kept, func(a, b sallyport.WritePlace) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (s *shelf) ForgetWritePlace(context.Context, string) (bool, error) { return false, nil }

// world is a random disk with a configuration over it.
type world struct {
	dir     string
	rnd     *rand.Rand
	ledger  shelf
	without Part
	writes  []Write
	reads   []string
	// real is where each path of the configuration led first, closed which of them
	// were withheld then, meant where each leads with every link that the operator
	// made.
	real, meant map[string]string
	closed      map[string]bool
}

// newWorld makes folders, links of the operator outside what tools may write, and
// entries that name folders directly, through links, beneath each other, and not
// there yet. When root runs it, a folder may have a second name by a mount.
func newWorld(t *testing.T, seed uint64, without Part) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir, rnd: rand.New(rand.NewPCG(seed, 7)), without: without, real: map[string]string{}, meant: map[string]string{}, closed: map[string]bool{}}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "a/x", "a/x/y", "a/z", "b", "b/x", "c", "c/x", "out", "out/x", "links"} {
		must(os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	// Some of the operator's links lie where tools may write.
	for _, at := range []string{"a/k", "b/k"} {
		if w.rnd.IntN(2) == 0 {
			must(os.Symlink([]string{"../c", ".."}[w.rnd.IntN(2)], filepath.Join(dir, at)))
		}
	}
	targets := []string{"a", "a", "a", "a/x", "b", "b/x", "c"}
	for i := range 4 {
		target := filepath.Join(dir, targets[w.rnd.IntN(len(targets))])
		if w.rnd.IntN(2) == 0 {
			target = "../" + strings.TrimPrefix(target, dir+"/")
		}
		must(os.Symlink(target, filepath.Join(dir, fmt.Sprintf("links/l%d", i))))
	}
	pick := func(list ...string) string { return filepath.Join(dir, list[w.rnd.IntN(len(list))]) }
	// Writable: one or two of a and b, and something beneath or by an alias.
	w.writes = append(w.writes, Write{pick("a", "b", "links/l0", "links/l1"), "p"})
	for range w.rnd.IntN(3) {
		w.writes = append(w.writes, Write{pick("a/x", "a/x/y", "b/x", "b/new", "links/l0", "links/l1/x", "links/l1/x", "links/l2/x", "links/l2/new", "links/l2/k"), "q"})
	}
	for range 3 {
		w.reads = append(w.reads, pick("a/x", "a/x/y", "a/z", "b/x", "c/x", "a/new", "links/l0", "links/l1/x", "links/l3", "links/l3/x"))
	}
	if os.Geteuid() == 0 && w.rnd.IntN(3) == 0 {
		from, at := pick("a", "a/x", "b"), filepath.Join(dir, "mnt")
		must(os.Mkdir(at, 0o755))
		if unix.Mount(from, at, "", unix.MS_BIND, "") == nil {
			t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
			w.reads = append(w.reads, at+"/x")
		}
	}
	all := Compile(Input{})
	paths := slices.Clone(w.reads)
	for _, e := range w.writes {
		paths = append(paths, e.Path)
	}
	for _, path := range paths {
		for _, p := range []string{path, filepath.Dir(path)} {
			w.meant[p] = all.Place(p).Path
		}
	}
	return w
}

func (w *world) compile(t *testing.T, writes []Write) *Map {
	t.Helper()
	m, err := NewMap(t.Context(), Options{Writes: writes, Ledger: &w.ledger, Without: w.without})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// writable lists where agents may act: the write entries that open, as a child is
// shown them.
func (w *world) writable(m *Map) (list []string) {
	for _, e := range w.writes {
		if p := m.Place(e.Path); p.Path != "" && p.Ground != "" {
			if f, err := Open(p.Path); err == nil {
				list = append(list, p.Path)
				f.Close()
			}
		}
	}
	return list
}

// act has an agent do something in a place that it may write. Whatever names it
// uses, the kernel holds it to the place; here names without links do.
func (w *world) act(list []string) {
	if len(list) == 0 {
		return
	}
	names := []string{"x", "x", "y", "k", "new", "x/y", "x2"}
	at := func() string { return filepath.Join(list[w.rnd.IntN(len(list))], names[w.rnd.IntN(len(names))]) }
	a, b := at(), at()
	for _, p := range []string{a, b} {
		if f, err := Open(filepath.Dir(p)); err != nil {
			return
		} else {
			f.Close()
		}
	}
	targets := []string{w.dir + "/out", "/", "/", w.dir, w.dir + "/c", "../out", "../../out", "../c", w.dir + "/links/l0"}
	switch w.rnd.IntN(5) {
	case 0:
		_ = os.Rename(a, b)
	case 1:
		_ = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	case 2:
		_ = os.Mkdir(a, 0o755)
	case 3:
		_ = os.Remove(a)
	default:
		_ = os.Rename(a, a+"-away"+fmt.Sprint(w.rnd.IntN(9)))
		_ = os.Symlink(targets[w.rnd.IntN(len(targets))], a)
	}
}

// checkPaths opens every path of the configuration by a table and by that of a fresh
// process, and reports what lies elsewhere than the operator meant.
func (w *world) checkPaths(t *testing.T, m *Map) (faults []string) {
	fresh := w.compile(t, w.writes)
	paths := slices.Clone(w.reads)
	for _, e := range w.writes {
		paths = append(paths, e.Path)
	}
	for _, path := range paths {
		p, again := m.Place(path), fresh.Place(path)
		if p.Path != again.Path || (p.Why == "") != (again.Why == "") {
			faults = append(faults, fmt.Sprintf("%s: %q (%s), in a fresh process %q (%s)", path, p.Path, p.Why, again.Path, again.Why))
		}
		switch first := w.real[path]; {
		case first == "":
			w.real[path], w.closed[path] = p.Path, p.Why != ""
		case p.Path != first && w.closed[path] && (p.Path == w.meant[path] || p.Path == filepath.Join(w.meant[filepath.Dir(path)], filepath.Base(path))):
			// Two entries led through each other, and one of them does not any more.
			w.real[path], w.closed[path] = p.Path, p.Why != ""
		case p.Path != first:
			faults = append(faults, fmt.Sprintf("%s led to %s and leads to %s", path, first, p.Path))
		}
		if p.Path == "" {
			continue
		}
		f, err := Open(p.Path)
		if (err == nil || errors.Is(err, os.ErrNotExist)) != (p.Why == "") {
			faults = append(faults, fmt.Sprintf("%s: Open of %s = %v, and Place says %q", path, p.Path, err, p.Why))
		}
		if err != nil {
			continue
		}
		real, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		f.Close()
		if real != p.Path {
			faults = append(faults, fmt.Sprintf("%s: %s was opened as %s", path, p.Path, real))
		}
	}
	return faults
}

// play runs one world and returns the first fault.
func play(t *testing.T, seed uint64, without Part) string {
	w := newWorld(t, seed, without)
	m := w.compile(t, w.writes)
	if faults := w.checkPaths(t, m); len(faults) > 0 {
		return faults[0]
	}
	for range 30 {
		w.act(w.writable(m))
		if w.rnd.IntN(4) == 0 {
			// A reload, a restart, or another process with less to write.
			less := slices.DeleteFunc(slices.Clone(w.writes), func(Write) bool { return w.rnd.IntN(3) == 0 })
			_ = w.compile(t, less)
			m = w.compile(t, w.writes)
		}
		if faults := w.checkPaths(t, m); len(faults) > 0 {
			return faults[0]
		}
	}
	return ""
}

// worlds is how many random worlds show each part of the decision to be needed.
const worlds = 150

// TestA1_A2_PlacesHoldAgainstAgents plays random worlds: whatever agents do, each
// path of the configuration leads where it led, or is withheld, in every process.
func TestA1_A2_PlacesHoldAgainstAgents(t *testing.T) {
	for seed := range uint64(needs.Count(50, worlds)) {
		if fault := play(t, seed, 0); fault != "" {
			t.Fatalf("world %d: %s", seed, fault)
		}
	}
}

// TestEachPartOfTheDecisionIsNeeded leaves out one part after the other, which the
// same worlds find.
func TestEachPartOfTheDecisionIsNeeded(t *testing.T) {
	needs.NoRace(t)
	for name, part := range map[string]Part{"ground": PartGround, "root": PartRoot, "known": PartKnown} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(worlds) {
				if fault := play(t, seed, part); fault != "" {
					t.Logf("world %d: %s", seed, fault)
					return
				}
			}
			t.Error("no world shows what this part is for")
		})
	}
}

// TestOrderAndRepetitionOfWritesDoNotMatter shuffles and repeats the entries.
func TestOrderAndRepetitionOfWritesDoNotMatter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		w := newWorld(t, seed, 0)
		one := Compile(Input{Writes: w.writes})
		again := append(slices.Clone(w.writes), w.writes...)
		w.rnd.Shuffle(len(again), func(i, j int) { again[i], again[j] = again[j], again[i] })
		two := Compile(Input{Writes: again})
		for _, path := range w.reads {
			if a, b := one.Place(path), two.Place(path); a.Path != b.Path || a.Ground != b.Ground || (a.Why == "") != (b.Why == "") {
				t.Errorf("world %d: %s is %+v, in another order %+v", seed, path, a, b)
			}
		}
	}
}

// TestA1_ExchangesDuringOpensLeadNowhere exchanges a folder and a link while the
// folder is opened.
func TestA1_ExchangesDuringOpensLeadNowhere(t *testing.T) {
	t.Parallel()
	dir := disk(t, "w/data/", "w/other -> ../out", "out/")
	data, other := filepath.Join(dir, "w/data"), filepath.Join(dir, "w/other")
	outside, err := os.Stat(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, data, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
			}
		}
	})
	opened, refused := 0, 0
	for range 200_000 {
		f, err := Open(data)
		if err != nil {
			refused++
			continue
		}
		opened++
		info, err := f.Stat()
		f.Close()
		if err != nil || os.SameFile(info, outside) {
			t.Fatalf("an open led outside: %v", err)
		}
	}
	close(stop)
	running.Wait()
	if opened == 0 || refused == 0 {
		t.Errorf("%d opens led to the folder and %d met the link: nothing was tried", opened, refused)
	}
}
