package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// belongings is what a process has.
type belongings struct {
	children, goroutines, mounts, cgroups, files int
	descriptors                                  map[string]int
}

// count counts what this process has, with the files in a scratch folder.
func count(t *testing.T, scratch string) belongings {
	t.Helper()
	b := belongings{
		children: len(descendants(os.Getpid())), goroutines: runtime.NumGoroutine(), descriptors: map[string]int{},
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	b.mounts = bytes.Count(mounts, []byte("\n"))
	for _, dir := range []string{scratch, "/sys/fs/cgroup"} {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // a group of another user's that has just gone
			case dir == scratch:
				b.files++
			case d.IsDir() && strings.Contains(d.Name(), "sallyport") && strings.Contains(d.Name(), fmt.Sprintf("-%d-", os.Getpid())):
				b.cgroups++
			}
			return nil
		})
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil {
			kind, _, _ := strings.Cut(to, "[")
			b.descriptors[kind]++
		}
	}
	// The map of a user is kept for the next child that has it: as many as there
	// were children at once, with those that a process of the machine still had.
	if maps := b.descriptors["user:"]; maps <= 64 {
		delete(b.descriptors, "user:")
	}
	return b
}

func (b belongings) fds() (n int) {
	for _, c := range b.descriptors {
		n += c
	}
	return n
}

// more lists what grew.
func (b belongings) more(than belongings) string {
	var list []string
	for _, c := range []struct {
		name      string
		got, want int
	}{
		{"children or zombies", b.children, than.children},
		{"goroutines", b.goroutines, than.goroutines},
		{"descriptors", b.fds(), than.fds()},
		{"mounts", b.mounts, than.mounts},
		{"cgroups", b.cgroups, than.cgroups},
		{"files", b.files, than.files},
	} {
		if c.got > c.want {
			list = append(list, fmt.Sprintf("%d %s instead of %d", c.got, c.name, c.want))
		}
	}
	if len(list) > 0 {
		for kind, n := range b.descriptors {
			if was := than.descriptors[kind]; n > was {
				list = append(list, fmt.Sprintf("%d of %s instead of %d", n, kind, was))
			}
		}
	}
	return strings.Join(list, ", ")
}

// TestSpawnsLeaveNothing starts a thousand children, two hundred unless it may
// be long, of which half fail in every way there is. It is not parallel: what a process has is
// counted for the whole of it.
func TestSpawnsLeaveNothing(t *testing.T) {
	scratch := t.TempDir()
	before := count(t, scratch)
	net := newWorld()
	net.serve(t, "data.example.org", textHandler("data"))
	r, err := New(asAsked(&Options{Warm: -1, Network: net.backend(), Scratch: scratch}))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	base := workspace(t, r, "data.example.org")
	programs := t.TempDir()
	base.grant.FS.Read = append(base.grant.FS.Read, programs)
	if err := os.WriteFile(filepath.Join(programs, "garbage"), []byte{0, 1, 2}, 0o755); err != nil {
		t.Fatal(err)
	}
	one(t, base, 0)
	one(t, base, 0)
	// The launcher, the poller of the runtime and the like are there from now on,
	// and a control group for the next child.
	if r.platform.groups.Kind() != "" && !within(func() bool { return r.platform.spare.Load() != nil }) {
		t.Error("no control group is ready")
	}
	settled := count(t, scratch)

	const at = 8
	spawns := needs.Count(200, 1000)
	var wg sync.WaitGroup
	for k := range at {
		w := *base
		wg.Go(func() {
			for i := k; i < spawns; i += at {
				one(t, &w, i)
			}
		})
	}
	wg.Wait()
	// Goroutines that have done their work may still have to end.
	var grown string
	if !within(func() bool { grown = count(t, scratch).more(settled); return grown == "" }) {
		t.Errorf("after %d spawns: %s", spawns, grown)
	}
	r.Close()
	if !within(func() bool { grown = count(t, scratch).more(settled); return grown == "" }) {
		t.Errorf("after Close: %s", grown)
	}
	if n := count(t, scratch); n.children > before.children || n.files > before.files {
		t.Errorf("after Close: %d children, %d files, want %d and %d", n.children, n.files, before.children, before.files)
	}
}

// within waits for something for a while.
func within(f func() bool) bool {
	for range 400 {
		if f() {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// one starts one child of many kinds. It is called from many goroutines.
func one(t *testing.T, w *workplace, i int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := sallyport.SpawnOptions{}
	binary, args, fails := "true", []string(nil), false
	switch i % 10 {
	case 0, 2:
	case 4:
		binary, args, o.Stdin = "cat", nil, []byte("x")
	case 6:
		binary, args, o.Output = "sh", []string{"-c", "sleep 0.001 & setsid sleep 1000 & echo x"}, new(writer)
	case 8:
		binary, args = "sh", []string{"-c", "echo x >/tmp/x; exit 3"}
	case 1:
		o.Dir, fails = "/etc", true
	case 3:
		binary, fails = "no-such-program", true
	case 5:
		binary, args, o.Timeout = "sleep", []string{"1000"}, time.Millisecond
	case 7:
		binary, args = "sleep", []string{"1000"}
		time.AfterFunc(time.Duration(i%8)*time.Millisecond, cancel)
	case 9:
		// A program that the kernel refuses to execute.
		binary, fails = filepath.Join(w.grant.FS.Read[1], "garbage"), true
	}
	c, err := w.r.Start(ctx, w.spawn(o, binary, args...))
	if err != nil {
		if !fails && ctx.Err() == nil {
			t.Errorf("spawn %d: %v", i, err)
		}
		return
	}
	if fails {
		t.Errorf("spawn %d of %s succeeded", i, binary)
	}
	<-c.Done()
}
