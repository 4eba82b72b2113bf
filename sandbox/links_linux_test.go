package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport"
	places "github.com/sallyport/sallyport/internal/place"
)

// placed is a grant as the gate computes it where no tool may write yet: links of
// now are the operator's.
func placed(g *sallyport.Grant) *sallyport.Grant {
	out := *g
	out.FS.Names = map[string]string{}
	table := places.Compile(places.Input{})
	lead := func(list []string) (led []string) {
		for _, path := range list {
			p := table.Place(path).Path
			if p != path {
				out.FS.Names[path] = p
			}
			led = append(led, p)
		}
		return led
	}
	out.FS.Read, out.FS.Write, out.Process.ExecFrom = lead(g.FS.Read), lead(g.FS.Write), lead(g.Process.ExecFrom)
	return &out
}

// TestALinkInAGrantedPathIsNotShown has one child put a link in the place of a
// folder that is granted by name, and starts the next one.
func TestALinkInAGrantedPathIsNotShown(t *testing.T) {
	t.Parallel()
	for _, mode := range []sallyport.FSMode{sallyport.FSDirect, sallyport.FSOverlay} {
		w := workspace(t, open(t, &Options{Warm: -1}))
		outside := t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("SECRET"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.write("build/out/kept", "")
		inner := filepath.Join(w.dir, "build", "out")
		w.sh("mv build old && mkdir build && ln -s " + outside + " build/out")

		w.grant.FS = sallyport.FSGrant{Read: []string{inner}, Write: []string{inner}, Mode: mode}
		c, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "sh", "-c",
			"cat "+inner+"/secret "+outside+"/secret; echo evil > "+inner+"/planted; echo ran"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Wait()
		if err != nil || string(res.Stdout) != "ran\n" {
			t.Errorf("%s: the child says %q, %v, want that it sees nothing", mode, res.Stdout, err)
		}
		if !slices.Equal(res.Linked, []string{inner}) {
			t.Errorf("%s: Linked = %q, want %q", mode, res.Linked, inner)
		}
		if _, err := os.Stat(filepath.Join(outside, "planted")); err == nil {
			t.Errorf("%s: something was written outside", mode)
		}
	}
}

// TestALinkInContentLeadsToGrantedPlaces grants the folder around a link.
func TestALinkInContentLeadsToGrantedPlaces(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.write("store/page", "hello")
	if err := os.Symlink("store", filepath.Join(w.dir, "data")); err != nil {
		t.Fatal(err)
	}
	if out := w.sh("cat data/page"); out != "hello" {
		t.Errorf("the child says %q, want the page", out)
	}
}

// TestALinkOfTheOperatorIsFollowed grants a folder by a link that was there.
func TestALinkOfTheOperatorIsFollowed(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.write("page", "hello")
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	w.grant.FS = sallyport.FSGrant{Read: []string{link}}
	w.grant = placed(w.grant)
	c, err := w.r.Start(t.Context(), w.spawn(sallyport.SpawnOptions{}, "cat", link+"/page"))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := c.Wait(); err != nil || string(res.Stdout) != "hello" {
		t.Errorf("cat = %q, %q, %v, want the page", res.Stdout, res.Stderr, err)
	}
}

// TestDevicesOfTheHostKeepTheirMode has a child change what it can name of the
// host's devices, by name and by descriptor.
func TestDevicesOfTheHostKeepTheirMode(t *testing.T) {
	t.Parallel()
	w := workspace(t, open(t, &Options{Warm: -1}))
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	script := "for f in /dev/* /proc/self/fd/*; do chmod 0601 $f; done 2>/dev/null; echo still > /dev/null && echo writable"
	if out := w.sh(script); out != "writable\n" {
		t.Errorf("the child says %q, want a null device that takes writes", out)
	}
	after, err := os.Stat(os.DevNull)
	if err != nil || after.Mode() != before.Mode() {
		_ = os.Chmod(os.DevNull, before.Mode())
		t.Errorf("mode of %s = %v, %v, want %v", os.DevNull, after.Mode(), err, before.Mode())
	}
}

// TestAWarmHelperSeesNewMounts mounts something over a folder of the reach
// after a helper was made.
func TestAWarmHelperSeesNewMounts(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounting on the host needs root")
	}
	w := workspace(t, open(t, &Options{Warm: 1}))
	w.write("sub/hidden", "HIDDEN")
	w.ok(nil, "true")
	warm(t, w.r, 1)
	sub := filepath.Join(w.dir, "sub")
	if err := syscall.Mount("tmpfs", sub, "tmpfs", 0, ""); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(sub, syscall.MNT_DETACH) })
	if out := w.sh("cat sub/hidden 2>/dev/null; echo new > sub/x; ls sub"); out != "x\n" {
		t.Errorf("the child says %q, want the new mount", out)
	}
	if _, err := os.Stat(filepath.Join(sub, "x")); err != nil {
		t.Errorf("what the child wrote went below the mount: %v", err)
	}
}
