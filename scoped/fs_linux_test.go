package scoped

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
)

// runSoon fails the test when do has not ended after a while.
func runSoon(t *testing.T, what string, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		t.Fatalf("%s waits", what)
		return nil
	}
}

func TestSpecialFilesAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"ws/d/": "", "ws/l": "->pipe", "ws/s/": ""})
	ws := filepath.Join(dir, "ws")
	for _, p := range []string{"ws/pipe", "granted", "ws/d/pipe"} {
		if err := syscall.Mkfifo(filepath.Join(dir, p), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(ws, "s/sock")}); err != nil {
		t.Fatal(err)
	}
	f := reachOf(t, dir, []string{"ws", "granted"}, []string{"ws", "granted"}, nil)
	fsys := bindTo(t, f, ws)
	for _, name := range []string{"pipe", "l", "d/pipe", "s/sock", "../granted"} {
		ops := map[string]func() error{
			"read":  func() error { _, err := fsys.ReadFile(name); return err },
			"open":  func() error { _, err := fsys.Open(name); return err },
			"write": func() error { return fsys.WriteFile(name, nil) },
			"update": func() error {
				return fsys.UpdateFile(name, func(b []byte) ([]byte, error) { return b, nil })
			},
		}
		for op, do := range ops {
			if err := runSoon(t, op+" "+name, do); !errors.Is(err, sallyport.ErrPathNotReachable) || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s(%q) = %v, want a refusal", op, name, err)
			}
		}
		others := map[string]func() error{
			"list":  func() error { _, err := fsys.ReadDir(name); return err },
			"mkdir": func() error { return fsys.MkdirAll(name) },
			"below": func() error { return fsys.WriteFile(name+"/x", nil) },
		}
		for op, do := range others {
			if err := runSoon(t, op+" "+name, do); err == nil {
				t.Errorf("%s(%q) = nil, want an error", op, name)
			}
		}
		if info, err := fsys.Stat(name); err != nil || info.Mode().IsRegular() {
			t.Errorf("Stat(%q) = %v, %v, want a description", name, info, err)
		}
	}
}

// What os.Root does not do itself, openDir and openFolder rely on: a dot at
// the end makes a FIFO an error instead of a wait.
func TestOpeningAFIFOAsAFolderDoesNotWait(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for what, do := range map[string]func() error{
		"openDir":    func() error { _, err := openDir(filepath.Join(dir, "pipe")); return err },
		"openFolder": func() error { _, err := openFolder(root, "pipe", filepath.Join(dir, "pipe")); return err },
	} {
		if err := runSoon(t, what, do); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s of a FIFO = %v, want ENOTDIR", what, err)
		}
	}
}

func TestHardLinksToProtectedFilesStayClosed(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"home/.ssh/deploy": "SECRET", "home/.netrc": "SECRET", "state/state.db": "SECRET", "state/state.db-wal": "SECRET",
		"home/.config/gh/hosts.yml": "SECRET", "plain": "fine", "ws/": "",
	})
	for i, name := range []string{"home/.ssh/deploy", "home/.netrc", "state/state.db", "state/state.db-wal", "home/.config/gh/hosts.yml", "plain"} {
		if err := os.Link(filepath.Join(dir, name), filepath.Join(dir, "ws", strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	b := &sallyport.FileBackend{Deny: []string{filepath.Join(dir, "state/state.db")}}
	fsys := bindTo(t, reachOf(t, dir, []string{"ws"}, []string{"ws"}, b), filepath.Join(dir, "ws"))
	for i := range 5 {
		name := strconv.Itoa(i)
		if got, err := fsys.ReadFile(name); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadFile(%s) = %q, %v, want the floor's refusal", name, got, err)
		}
		err := fsys.UpdateFile(name, func(b []byte) ([]byte, error) { return b, nil })
		if !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("UpdateFile(%s) = %v, want the floor's refusal", name, err)
		}
	}
	if got, err := fsys.ReadFile("5"); string(got) != "fine" || err != nil {
		t.Errorf("ReadFile of another hard link = %q, %v, want fine", got, err)
	}
}

func TestWriteOnAFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"small/": ""})
	small := filepath.Join(dir, "small")
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a small file system here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, unix.MNT_DETACH) })
	fsys := bindTo(t, reachOf(t, dir, []string{"small"}, []string{"small"}, nil), small)
	if err := fsys.WriteFile("f", []byte("old")); err != nil {
		t.Fatal(err)
	}
	err := fsys.WriteFile("f", make([]byte, 1<<20))
	if !errors.Is(err, syscall.ENOSPC) || err.Error() != "cannot write "+filepath.Join(small, "f")+": no space left on device" {
		t.Errorf("WriteFile on a full disk = %v, want no space", err)
	}
	if got, err := fsys.ReadFile("f"); string(got) != "old" || err != nil {
		t.Errorf("f = %q, %v after a failed write, want old", got, err)
	}
	leftovers(t, dir)
}

func TestPermissionsOfTheSystemStillCount(t *testing.T) {
	t.Parallel()
	const env = "SALLYPORT_TEST_READONLY"
	if dir := os.Getenv(env); dir != "" {
		fsys := bindTo(t, reachOf(t, dir, []string{"."}, []string{"."}, nil), dir)
		if err := fsys.WriteFile("locked", []byte("new")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("WriteFile of a read-only file = %v, want permission denied", err)
		}
		if _, err := fsys.ReadFile("closed"); !errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "openat") {
			t.Errorf("ReadFile of a closed file = %v, want permission denied", err)
		}
		if err := fsys.WriteFile("open", []byte("new")); err != nil {
			t.Errorf("WriteFile of an open file = %v", err)
		}
		return
	}
	dir := tree(t, map[string]string{"locked": "x", "closed": "x", "open": "x"})
	for name, mode := range map[string]os.FileMode{"locked": 0o444, "closed": 0o000, ".": 0o777} {
		if err := os.Chmod(filepath.Join(dir, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	cmd := testProcess(t, "^TestPermissionsOfTheSystemStillCount$", env+"="+dir)
	if os.Getuid() == 0 {
		// Root may do everything, so the other process is another user, who
		// must be able to walk to the folder and to start this binary.
		bin := filepath.Join(dir, "test")
		data, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(bin, data, 0o755)
		}
		for p := dir; err == nil && p != "/tmp" && p != "/"; p = filepath.Dir(p) {
			err = os.Chmod(p, 0o777)
		}
		for _, name := range []string{"open"} {
			err = errors.Join(err, os.Chown(filepath.Join(dir, name), 65534, 65534))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Path = bin
		cmd.Dir = dir
		cmd.Env = append(cmd.Env, "HOME=/nonexistent", "TMPDIR=/tmp", "GOCOVERDIR=")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

func TestOwnerIsKept(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root may give files away")
	}
	dir := tree(t, map[string]string{"f": "x"})
	if err := os.Chown(filepath.Join(dir, "f"), 1234, 2345); err != nil {
		t.Fatal(err)
	}
	fsys := bindTo(t, reachOf(t, dir, nil, []string{"."}, nil), dir)
	if err := fsys.WriteFile("f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 {
		t.Errorf("owner after a write = %d:%d, want 1234:2345", st.Uid, st.Gid)
	}
}

func TestKernelFilesWithoutASize(t *testing.T) {
	fsys := bindTo(t, reachOf(t, "/", []string{"."}, nil, nil), "/")
	if got, err := fsys.ReadFile("/proc/version"); len(got) == 0 || err != nil {
		t.Errorf("ReadFile(/proc/version) = %q, %v, want its text", got, err)
	}
	for _, name := range []string{"/proc/mounts", "/proc/self/environ", "/dev/zero", "/proc/" + strconv.Itoa(os.Getpid()) + "/maps"} {
		if err := runSoon(t, name, func() error { _, err := fsys.ReadFile(name); return err }); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("ReadFile(%s) = %v, want the floor's refusal", name, err)
		}
	}
}

func TestOpenedPath(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a": "x", "b (deleted)": "y", "l": "->a"})
	for name, want := range map[string]string{"a": "a", "l": "a", "b (deleted)": "b (deleted)"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		got, err := openedPath(f, filepath.Join(dir, name))
		if got != filepath.Join(dir, want) || err != nil {
			t.Errorf("openedPath(%s) = %q, %v, want %s", name, got, err, want)
		}
		if got, err = openedPathByName(f, filepath.Join(dir, name)); got != filepath.Join(dir, want) || err != nil {
			t.Errorf("openedPathByName(%s) = %q, %v, want %s", name, got, err, want)
		}
		if _, err := openedPathByName(f, filepath.Join(dir, "none")); err == nil {
			t.Error("openedPathByName of nothing = nil error")
		}
		if name == "a" {
			if _, err := openedPathByName(f, filepath.Join(dir, "b (deleted)")); err == nil {
				t.Error("openedPathByName of another file = nil error")
			}
			if err := os.Remove(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
			if got, err := openedPath(f, filepath.Join(dir, "a")); got != filepath.Join(dir, "a") || err != nil {
				t.Errorf("openedPath of a removed file = %q, %v, want its last name", got, err)
			}
			if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
