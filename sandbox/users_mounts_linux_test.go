package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
)

// mountAt mounts a file system on the host for a test.
func mountAt(t *testing.T, kind, path, data string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(kind, path, kind, 0, data); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
}

// overlayAt mounts what cannot be mapped: an overlay on the disk.
func overlayAt(t *testing.T, path string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/lower/file", []byte("of the overlay"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/lower/private", []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	mountAt(t, "overlay", path, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir))
}

func TestA3_MountsBelowAnEntryAreMappedOrCovered(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	w.write("memory/under", "under the mount")
	w.write("layered/under", "under the mount")
	mountAt(t, "tmpfs", w.dir+"/memory", "")
	mountAt(t, "tmpfs", w.dir+"/memory/inner", "")
	overlayAt(t, w.dir+"/layered")
	mountAt(t, "tmpfs", w.dir+"/layered/deep", "")
	for _, dir := range []string{"memory", "memory/inner", "layered/deep"} {
		w.write(dir+"/private", dir)
		w.chown(dir+"/private", 0, 0, 0o600)
	}
	got := w.sh(`cat memory/private memory/inner/private; echo x > memory/inner/new
		for f in layered/* layered/under layered/file layered/deep/private; do cat $f 2>/dev/null; done; ls layered 2>/dev/null || echo shut`)
	if want := "memorymemory/innershut\n"; got != want {
		t.Errorf("the child said %q, want %q", got, want)
	}
	if got := onDisk(t, w.dir+"/memory/inner/new"); got != "0:0" {
		t.Errorf("a file in a mount belongs to %s", got)
	}
}

// hostUser is the user of the host as whom a child runs.
func hostUser(t *testing.T, c sallyport.Child) int {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", c.(*childProcess).proc.Pid), &st); err != nil {
		t.Fatal(err)
	}
	return int(st.Uid)
}

func TestA3_AWriteEntryThatCannotBeMappedSharesTheUser(t *testing.T) {
	t.Parallel()
	for _, warm := range []int{-1, 1} {
		w := ownedPlace(t, &Options{Warm: warm})
		mapped := *w.grant
		overlayAt(t, w.dir)
		own := workspace(t, w.r)
		if w.r.Shared(w.dir) == nil || w.r.Shared(own.dir) != nil || w.r.Shared("/nonexistent") != nil {
			t.Errorf("Shared = %v, %v", w.r.Shared(w.dir), w.r.Shared(own.dir))
		}
		for range 2 {
			c := w.start(t.Context(), sallyport.SpawnOptions{}, "sh", "-c", "cat private && echo x > new && sleep 1000")
			if id := hostUser(t, c); id != 0 {
				t.Errorf("with an entry that cannot be mapped the child runs as %d", id)
			}
			eventually(t, "the child has written", func() bool { _, err := os.Stat(w.dir + "/new"); return err == nil })
			c.Stop(0)
			c = own.start(t.Context(), sallyport.SpawnOptions{}, "sleep", "1000")
			if id := hostUser(t, c); id < hostuser.First {
				t.Errorf("the next child runs as %d", id)
			}
			c.Stop(0)
		}
		if err := unix.Unmount(w.dir, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		*w.grant = mapped
		c := w.start(t.Context(), sallyport.SpawnOptions{}, "sleep", "1000")
		if id := hostUser(t, c); id < hostuser.First {
			t.Errorf("without the mount the child runs as %d", id)
		}
		c.Stop(0)
	}
}

func TestA3_StrictRefusesToShareTheUser(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	overlayAt(t, w.dir)
	w.r.o.Level = sallyport.LevelStrict
	_, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "true"))
	if e, ok := errors.AsType[*sallyport.Error](err); !ok || e.Code != sallyport.CodeNotAvailable || !strings.Contains(fmt.Sprint(e.Err), w.dir) {
		t.Errorf("Start = %v (%v), want a refusal that names the entry", err, errors.Unwrap(err))
	}
	shared := open(t, &Options{Warm: -1, Level: sallyport.LevelStrict, without: layerUsers})
	if rep := shared.Report(); rep.Level != "" || !strings.Contains(rep.Missing, "a user of its own") && !strings.Contains(rep.Missing, "cgroup") {
		t.Errorf("the report is %+v", rep)
	}
}

func TestA3_AReadEntryThatCannotBeMappedIsShownAsItIs(t *testing.T) {
	t.Parallel()
	w := ownedPlace(t, &Options{Warm: -1})
	entry := t.TempDir()
	overlayAt(t, entry)
	w.grant.FS.Read = append(w.grant.FS.Read, entry)
	got := w.sh("cat " + entry + "/file; cat " + entry + "/private 2>/dev/null || echo shut; (echo x > " + entry + "/new) 2>/dev/null || echo kept; cat /proc/self/uid_map")
	if !strings.HasPrefix(got, "of the overlayshut\nkept\n") || !strings.Contains(got, fmt.Sprint(hostuser.First)[:5]) {
		t.Errorf("the child said %q", got)
	}
}
