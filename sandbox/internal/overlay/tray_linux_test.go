package overlay

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/tray"
)

// laidOut is a tray on the disk: what a child makes in upper is carried to host.
type laidOut struct {
	*Trays
	t           *testing.T
	host, upper string
}

func layOut(t *testing.T, names ...string) *laidOut {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &laidOut{t: t, host: filepath.Join(dir, "host"), upper: filepath.Join(dir, "memory", "0", "upper")}
	for _, d := range []string{l.host, l.upper} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	floor := denyfloor.New(&sallyport.FileBackend{Home: filepath.Join(dir, "home")})
	if l.Trays, err = NewTrays([]tray.Tray{{Dir: l.host, Names: names}}, floor, nil); err != nil {
		t.Fatal(err)
	}
	root, err := os.Open(filepath.Join(dir, "memory"))
	if err != nil {
		t.Fatal(err)
	}
	l.Attach(root)
	t.Cleanup(l.Discard)
	return l
}

func (l *laidOut) put(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.upper, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// hostNames is what lies in the folder of the host, with the text of files.
func (l *laidOut) hostNames() string {
	l.t.Helper()
	entries, err := os.ReadDir(l.host)
	if err != nil {
		l.t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		text, _ := os.ReadFile(filepath.Join(l.host, e.Name()))
		list = append(list, e.Name()+"="+string(text))
	}
	return strings.Join(list, " ")
}

// What the kernel's rules keep a child from making is not carried back either.
func TestOnlyAFileIsCarriedBack(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		make func(path string) error
		why  string
	}{
		{"a link", func(path string) error { return os.Symlink(secret, path) }, whyNotFile},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o755) }, whyNotFile},
		{"a pipe", func(path string) error { return unix.Mkfifo(path, 0o644) }, whyNotFile},
		{"a second name", func(path string) error {
			if err := os.WriteFile(path+".tmp", nil, 0o644); err != nil {
				return err
			}
			return os.Link(path+".tmp", path)
		}, whySecondName},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := layOut(t, "new")
			if err := tt.make(filepath.Join(l.upper, "new")); err != nil {
				t.Fatal(err)
			}
			l.Carry(context.Background())
			list := l.Finish(context.Background())
			if got := l.hostNames(); got != "" {
				t.Errorf("on the host: %q", got)
			}
			if len(list) == 0 || list[0].Committed || list[0].Why != tt.why {
				t.Errorf("changes = %+v, want %q", list, tt.why)
			}
			// What it was replaced with since then is.
			if err := os.RemoveAll(filepath.Join(l.upper, "new")); err != nil {
				t.Fatal(err)
			}
			l.put("new", "file")
			if l.Carry(context.Background()); l.hostNames() != "new=file" {
				t.Errorf("on the host: %q, want the file", l.hostNames())
			}
		})
	}
}

// A child that is faster than the look at its file shows nothing of the host.
func TestALinkInTheMomentOfTheCopyIsNotFollowed(t *testing.T) {
	l := layOut(t, "new")
	secret := filepath.Join(filepath.Dir(l.host), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		path := filepath.Join(l.upper, "new")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Remove(path)
			_ = os.WriteFile(path, []byte("public"), 0o644)
			_ = os.Remove(path)
			_ = os.Symlink(secret, path)
		}
	}()
	for range 200 {
		l.Carry(context.Background())
		if got := l.hostNames(); strings.Contains(got, "secret") || strings.Contains(got, ".sallyport") {
			t.Errorf("on the host: %q", got)
			break
		}
	}
	close(stop)
	<-swapped
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret is %v, %v", info, err)
	}
}

// While the child lives, no mode is changed in its tray: a link could be there by
// then.
func TestAFileThatIsClosedIsOpenedAtTheEndOnly(t *testing.T) {
	l := layOut(t, "new")
	l.put("new", "text")
	path := filepath.Join(l.upper, "new")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if l.Carry(context.Background()); !isMode(t, path, 0) {
		t.Error("the mode was changed while the child lives")
	}
	if list := l.Finish(context.Background()); len(list) != 1 || !list[0].Committed || !isMode(t, filepath.Join(l.host, "new"), 0) {
		t.Errorf("changes = %+v, want the file with its mode", list)
	}
}

func isMode(t *testing.T, path string, mode os.FileMode) bool {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm() == mode
}

// Two writes of one moment have one time, and writes through a mapping none.
func TestAChangeThatShowsInNoTimeIsCarriedBack(t *testing.T) {
	l := layOut(t, "new")
	l.put("new", "aaaa")
	l.Carry(context.Background())
	path := filepath.Join(l.upper, "new")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	m[0] = 'b' // From here on the page may be written without a fault.
	for range 3 {
		l.Carry(context.Background())
	}
	m[0] = 'c'
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	l.Finish(context.Background())
	if got := l.hostNames(); got != "new=caaa" {
		t.Errorf("on the host: %q, want what was written last", got)
	}
}

func TestAFolderThatIsGoneTakesNothing(t *testing.T) {
	l := layOut(t, "new")
	l.put("new", "text")
	if err := os.Remove(l.host); err != nil {
		t.Fatal(err)
	}
	list := l.Finish(context.Background())
	if len(list) != 1 || list[0].Committed || list[0].Why == "" {
		t.Errorf("changes = %+v, want the reason", list)
	}
}

// A file that is open on the host for a moment is carried back after it.
func TestAFileThatIsOpenOnTheHostIsCarriedLater(t *testing.T) {
	l := layOut(t, "new")
	l.put("new", "one")
	l.Carry(context.Background())
	f, err := os.OpenFile(filepath.Join(l.host, "new"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l.put("new", "second")
	if l.Carry(context.Background()); l.hostNames() != "new=one" {
		t.Errorf("on the host: %q, want what is open", l.hostNames())
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if l.Carry(context.Background()); l.hostNames() != "new=second" {
		t.Errorf("on the host: %q, want the second, and no copy", l.hostNames())
	}
	if err := os.Remove(filepath.Join(l.upper, "new")); err != nil {
		t.Fatal(err)
	}
	if l.Carry(context.Background()); l.hostNames() != "" {
		t.Errorf("on the host: %q, want nothing", l.hostNames())
	}
}

// What the child has left alone since it was carried back gives way to the host:
// nothing of it is lost.
func TestAnEditOfTheHostAfterwardsIsNoConflict(t *testing.T) {
	for _, edit := range []func(path string) error{
		func(path string) error { return os.WriteFile(path, []byte("host"), 0o644) },
		os.Remove,
	} {
		l := layOut(t, "new")
		l.put("new", "child")
		nextTick()
		l.Carry(context.Background())
		nextTick()
		l.Carry(context.Background())
		if err := edit(filepath.Join(l.host, "new")); err != nil {
			t.Fatal(err)
		}
		want := l.hostNames()
		list := l.Finish(context.Background())
		if got := l.hostNames(); got != want || len(list) != 1 || !list[0].Committed {
			t.Errorf("on the host: %q, want %q; changes = %+v", got, want, list)
		}
	}
}
