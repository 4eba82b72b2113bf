package scoped

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	places "github.com/sallyport/sallyport/internal/place"
)

func TestOpenRegular(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.Mkdir(at("d"), 0o700), os.WriteFile(at("d/f"), []byte("text"), 0o600),
		os.Symlink("f", at("d/link")), os.Symlink("d", at("up")), unix.Mkfifo(at("pipe"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	f, err := openRegular(at("d/f"), unix.O_NONBLOCK)
	if err != nil {
		t.Fatalf("openRegular = %v", err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "text" || err != nil {
		t.Errorf("it reads %q, %v", text, err)
	}
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("it can be written")
	}
	for name, want := range map[string]error{
		"d/link": places.ErrLink, "up/f": places.ErrLink, "d": errNotRegular, "pipe": errNotRegular, "d/none": os.ErrNotExist, "d/f/x": os.ErrNotExist,
	} {
		if f, err := openRegular(at(name), 0); !errors.Is(err, want) {
			t.Errorf("openRegular(%s) = %v, %v, want %v", name, f, err, want)
		}
	}
}

// TestOpenRegularInARace exchanges the file for a FIFO, and for a link to another file, all
// the time: only the file is ever opened.
func TestOpenRegularInARace(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	err = errors.Join(os.WriteFile(at("f"), []byte("text"), 0o600), os.WriteFile(at("other"), []byte("SECRET"), 0o600),
		unix.Mkfifo(at("pipe"), 0o600), os.Symlink("other", at("link")))
	if err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, name := range []string{"pipe", "link"} {
				err := unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at(name), unix.RENAME_EXCHANGE)
				err = errors.Join(err, unix.Renameat2(unix.AT_FDCWD, at("f"), unix.AT_FDCWD, at(name), unix.RENAME_EXCHANGE))
				if err != nil {
					stopped <- err
					return
				}
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	opened, refused := 0, 0
	for opened < 500 || refused < 500 {
		f, err := openRegular(at("f"), 0) // which would wait for a writer of the FIFO
		if err != nil {
			if !errors.Is(err, places.ErrLink) && !errors.Is(err, errNotRegular) {
				t.Fatalf("openRegular = %v", err)
			}
			refused++
			continue
		}
		opened++
		if text, err := io.ReadAll(f); string(text) != "text" || err != nil {
			t.Errorf("it reads %q, %v", text, err)
		}
		f.Close()
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestReadOwnLink(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := readOwnLink(int(f.Fd())); got != path || err != nil {
			t.Errorf("readOwnLink = %q, %v, want %q", got, err, path)
		}
		if err := os.Rename(path, path+"2"); err != nil {
			t.Fatal(err)
		}
		if got, err := readOwnLink(int(f.Fd())); got != path+"2" || err != nil {
			t.Errorf("readOwnLink after a rename = %q, %v, want %q", got, err, path+"2")
		}
		// Longer than what is on the stack.
		dir = filepath.Join(dir, strings.Repeat("d", 100))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := readOwnLink(1 << 20); err == nil {
		t.Error("readOwnLink of no file = nil")
	}
}
