package overlay

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

// upper writes into the first layer as a child would.
func upper(t *testing.T, v *Overlay, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(v.layers[0].upper, name), []byte(content), 0o644))
}

// everything is what all files below a directory hold, kept copies included.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s\n", data)
		return err
	}))
	return b.String()
}

// edits are what a person does to a file of the host at the worst moment: after
// it was judged and before its place was taken, or right after.
var edits = map[string]func(path string) error{
	"written in place": func(path string) error { return os.WriteFile(path, []byte("host"), 0o644) },
	"replaced": func(path string) error {
		return errors.Join(os.WriteFile(path+"~", []byte("host"), 0o644), os.Rename(path+"~", path))
	},
}

// TestA7_AnEditDuringTheCommitIsNotLost places each kind of change over a file
// that the host edits while the change is prepared.
func TestA7_AnEditDuringTheCommitIsNotLost(t *testing.T) {
	for how, edit := range edits {
		for _, do := range []commitAction{placeFile, placeLink, makeDir, removeAny} {
			t.Run(how+" "+string(do), func(t *testing.T) {
				ws, scratch := workspace(t, "echo old >f")
				v := begin(t, scratch, ws)
				s := prepareStep(t, v, do)
				p := open(t, v, s)
				must(t, p.prepareTemp())
				must(t, edit(filepath.Join(ws, "f")))
				old, err := p.installTemp()
				if old != nil || err == nil {
					t.Fatalf("install = %v, %v, want a conflict", old, err)
				}
				p.recordOutcome(errors.Join(err, p.giveUp(err)))
				if s.Committed || !strings.HasPrefix(s.Why, "STALE_WRITE") {
					t.Errorf("committed %v, %q, want STALE_WRITE", s.Committed, s.Why)
				}
				if data, err := os.ReadFile(filepath.Join(ws, "f")); string(data) != "host" {
					t.Errorf("f = %q, %v, want what the host wrote", data, err)
				}
				if do != placeFile {
					return
				}
				if data, err := os.ReadFile(s.Kept); string(data) != "child" || !strings.Contains(s.Why, s.Kept) {
					t.Errorf("kept %q = %q, %v; %s", s.Kept, data, err, s.Why)
				}
			})
		}
	}
}

// prepareStep returns the one change of a layer: f becomes something else.
func prepareStep(t *testing.T, v *Overlay, do commitAction) *step {
	t.Helper()
	path := filepath.Join(v.layers[0].upper, "f")
	switch do {
	case placeFile:
		upper(t, v, "f", "child")
	case placeLink:
		must(t, os.Symlink("elsewhere", path))
	case makeDir:
		must(t, os.Mkdir(path, 0o755))
	default:
		must(t, os.WriteFile(path, nil, 0o644)) // becomes a removal below
	}
	steps, err := v.planSteps(t.Context())
	must(t, err)
	if len(steps) != 1 {
		t.Fatalf("steps = %v", steps)
	}
	steps[0].do = do
	return steps[0]
}

func open(t *testing.T, v *Overlay, s *step) *placing {
	t.Helper()
	dir, err := s.layer.openBase(".")
	must(t, err)
	t.Cleanup(func() { _ = dir.Close() })
	return &placing{
		step: s, carrier: &carrier{start: v.start, away: map[inode]bool{}}, dir: dir, name: s.rel, tmp: tempName(),
	}
}

// TestA7_WhatCameOutIsLookedAt has the host replace the file between the last
// look and the move.
func TestA7_WhatCameOutIsLookedAt(t *testing.T) {
	for _, do := range []commitAction{placeFile, placeLink, makeDir, removeAny} {
		ws, scratch := workspace(t, "echo old >f")
		v := begin(t, scratch, ws)
		s := prepareStep(t, v, do)
		p := open(t, v, s)
		must(t, p.prepareTemp())
		h, err := p.openDisplaced()
		must(t, err)
		must(t, edits["replaced"](filepath.Join(ws, "f")))
		err = h.moveAway(do != removeAny)
		h.release()
		p.recordOutcome(err)
		if data, err := os.ReadFile(filepath.Join(ws, "f")); string(data) != "host" || s.Committed {
			t.Errorf("%s: f = %q, %v, committed %v, want what the host wrote", do, data, err, s.Committed)
		}
	}
}

// TestA7_AFileThatIsBeingWrittenIsNotReplaced: what an open program writes next
// must not go to a file without a name.
func TestA7_AFileThatIsBeingWrittenIsNotReplaced(t *testing.T) {
	ws, scratch := workspace(t, "echo old >f; echo old >gone")
	var open []*os.File
	for _, name := range []string{"f", "gone"} {
		f, err := os.OpenFile(filepath.Join(ws, name), os.O_WRONLY|os.O_APPEND, 0)
		must(t, err)
		defer f.Close()
		open = append(open, f)
	}
	v := begin(t, scratch, ws)
	child(t, v, ws, "echo child >f; rm gone")
	got, err := v.Commit(t.Context(), denyfloor.New(nil))
	must(t, err)
	for i, c := range got {
		if c.Committed || !strings.HasPrefix(c.Why, staleOpen) {
			t.Errorf("%+v, want it left alone", c)
		}
		_, err := open[i].WriteString("late")
		must(t, err)
		if data, err := os.ReadFile(c.Path); string(data) != "old\nlate" {
			t.Errorf("%s = %q, %v", c.Path, data, err)
		}
	}
	if len(got) != 2 || !strings.Contains(everything(t, ws), "child") {
		t.Errorf("changes = %v; what the child wrote is not kept", got)
	}
}

// TestA7_AReaderIsNoWriter: what a program of the host only reads is replaced.
func TestA7_AReaderIsNoWriter(t *testing.T) {
	ws, scratch := workspace(t, "echo old >f")
	f, err := os.Open(filepath.Join(ws, "f"))
	must(t, err)
	defer f.Close()
	v := begin(t, scratch, ws)
	child(t, v, ws, "echo child >f")
	got, err := v.Commit(t.Context(), denyfloor.New(nil))
	if err != nil || len(got) != 1 || !got[0].Committed || got[0].Kept != "" {
		t.Errorf("Commit = %+v, %v, want it committed", got, err)
	}
}

// TestA7_NewFilesInADirectoryThatGoesAreKept: a program of the host that stands
// in a directory goes on writing there when it has no name any more.
func TestA7_NewFilesInADirectoryThatGoesAreKept(t *testing.T) {
	for _, script := range []string{"rm -r d", "rm -r d; echo child >d"} {
		ws, scratch := workspace(t, "mkdir d; echo old >d/old")
		v := begin(t, scratch, ws)
		child(t, v, ws, script)
		steps, err := v.planSteps(t.Context())
		must(t, err)
		c := &carrier{start: v.start, away: map[inode]bool{}}
		dir, err := os.OpenRoot(filepath.Join(ws, "d"))
		must(t, err)
		for _, s := range steps {
			c.carryStep(s)
		}
		must(t, dir.WriteFile("new", []byte("host"), 0o644))
		must(t, dir.Close())
		c.removeOldest(0)
		if all := everything(t, ws); !strings.Contains(all, "host") {
			t.Errorf("%s: what the host wrote is lost: %s", script, all)
		}
		if s := steps[0]; !strings.HasPrefix(s.Why, "STALE_WRITE") {
			t.Errorf("%s: %+v", script, s.Change)
		}
	}
}

// TestA7_NoEditOfAnyMomentIsLost edits files of the host in every way while a
// commit goes over them, again and again. The last edit of each file is on the
// disk afterwards, under its name or under the one that the result tells.
func TestA7_NoEditOfAnyMomentIsLost(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	conflicts := 0
	for round := range rounds {
		const files = 24
		ws, scratch := workspace(t, "mkdir d; for i in $(seq 24); do echo old >f$i; echo old >d/g$i; done")
		v := begin(t, scratch, ws)
		child(t, v, ws, "for i in $(seq 24); do head -c 200000 /dev/zero >f$i; done; rm f1 f2 f3; rm -r d; echo new >d; ln -sf x f4; rm f5; mkdir f5")
		stop := make(chan struct{})
		var group sync.WaitGroup
		last := make([]string, files+1)
		for worker := range 4 {
			group.Go(func() {
				r := rand.New(rand.NewPCG(uint64(round), uint64(worker)))
				time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					i := 1 + worker + 4*r.IntN(files/4)
					token := fmt.Sprintf("host-%d-%d-%d;", round, i, n)
					if edit(ws, fmt.Sprintf("f%d", i), token, r.IntN(3)) {
						last[i] = token
					}
					time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
				}
			})
		}
		got, err := v.Commit(t.Context(), denyfloor.New(nil))
		close(stop)
		group.Wait()
		must(t, err)
		conflicts += check(t, ws, got, last)
	}
	t.Logf("%d changes met an edit", conflicts)
}

// edit writes a token into a file of the host, and reports whether it did.
func edit(ws, name, token string, how int) bool {
	path := filepath.Join(ws, name)
	if how == 0 {
		side := filepath.Join(ws, "."+name+"~")
		return os.WriteFile(side, []byte(token), 0o644) == nil && os.Rename(side, path) == nil
	}
	flags := os.O_WRONLY | os.O_TRUNC
	if how == 2 {
		flags = os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return false
	}
	time.Sleep(300 * time.Microsecond)
	_, err = f.WriteString(token)
	return errors.Join(err, f.Close()) == nil
}

// check looks for the last edit of each file, and that the result is true.
func check(t *testing.T, ws string, got []sallyport.Change, last []string) (conflicts int) {
	t.Helper()
	all := everything(t, ws)
	for i, token := range last {
		if token != "" && !strings.Contains(all, token) {
			t.Errorf("f%d: the edit %q is lost", i, token)
		}
	}
	for _, c := range got {
		if strings.HasPrefix(c.Why, "STALE_WRITE") {
			conflicts++
		}
		if c.Kept != "" {
			if _, err := os.Lstat(c.Kept); err != nil || !strings.Contains(c.Why, c.Kept) {
				t.Errorf("%+v: the copy is not where the result says: %v", c, err)
			}
		}
		if !c.Committed && c.Why == "" {
			t.Errorf("%+v: no reason", c)
		}
	}
	if left, _ := filepath.Glob(ws + "/.sallyport-*.tmp"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return conflicts
}
