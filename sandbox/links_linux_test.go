package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sallyport/sallyport"
)

// linksOf is what a scope says of a grant when it compiles it.
func linksOf(g *sallyport.Grant) map[string]string {
	links := map[string]string{}
	for _, path := range slices.Concat(g.FS.Read, g.FS.Write) {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			links[path] = real
		}
	}
	return links
}

// TestALinkThatAppearsIsNotFollowed has one child put a link in the place of a
// folder that is granted by name, and starts the next one.
func TestALinkThatAppearsIsNotFollowed(t *testing.T) {
	for _, mode := range []sallyport.FSMode{sallyport.FSDirect, sallyport.FSOverlay} {
		w := workspace(t, open(t, &Options{Warm: -1}))
		outside := t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("SECRET"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.write("build/out/kept", "")
		inner := filepath.Join(w.dir, "build", "out")
		w.grant.FS.Write = append(w.grant.FS.Write, inner)
		w.grant.FS.Read = append(w.grant.FS.Read, inner)
		links := linksOf(w.grant)
		w.sh("mv build old && mkdir build && ln -s " + outside + " build/out")

		w.grant.FS.Mode = mode
		spawn := w.spawn(sallyport.SpawnOptions{}, "sh", "-c", "cat build/out/secret; echo evil > build/out/planted")
		spawn.Links = links
		c, err := w.r.Start(t.Context(), spawn)
		if err == nil {
			res, _ := c.Wait()
			t.Fatalf("%s: a child ran and said %q", mode, res.Stdout)
		}
		if e, ok := errors.AsType[*sallyport.Error](err); !ok || !strings.Contains(e.Detail, "leads elsewhere by a symbolic link") {
			t.Errorf("%s: Start = %v, want a refusal of the link", mode, err)
		}
		if _, err := os.Stat(filepath.Join(outside, "planted")); err == nil {
			t.Errorf("%s: something was written outside", mode)
		}
	}
}

// TestALinkOfTheOperatorIsFollowed grants a folder by a link that was there.
func TestALinkOfTheOperatorIsFollowed(t *testing.T) {
	w := workspace(t, open(t, &Options{Warm: -1}))
	w.write("page", "hello")
	link := filepath.Join(t.TempDir(), "current")
	if err := os.Symlink(w.dir, link); err != nil {
		t.Fatal(err)
	}
	w.grant.FS = sallyport.FSGrant{Read: []string{link}}
	spawn := w.spawn(sallyport.SpawnOptions{}, "cat", link+"/page")
	spawn.Links = linksOf(w.grant)
	c, err := w.r.Start(t.Context(), spawn)
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
