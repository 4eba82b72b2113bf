package secrets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxFileBytes bounds a secret: a private key or a service account file
	// has a few KiB, a certificate chain seldom more than 20.
	maxFileBytes = 64 << 10
	// maxFiles bounds a directory that is listed for the output check.
	maxFiles = 4096
	// knownFor is how long a listing stands. A value that was handed out in
	// the meantime is added at once, so that the delay concerns only values
	// that no caller has seen.
	knownFor = time.Second
)

// Dir finds secrets in files: the reference providers/exa/apiKey is the file
// of that path below the directory. A link is followed when it stays inside,
// which is how container runtimes mount secrets. On Unix a file must be owned
// by the user of the process or by root, and must not be writable by the group
// or accessible by others. It is safe for concurrent use.
type Dir struct {
	root *os.Root
	most int // files in a listing

	mu     sync.Mutex
	known  []sallyport.Secret
	listed time.Time
}

// OpenDir opens the directory. The caller closes it.
func OpenDir(name string) (*Dir, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("secrets: dir: %w", err)
	}
	return &Dir{root: root, most: maxFiles}, nil
}

// Close closes the directory. No other method may be called afterwards.
func (d *Dir) Close() error { return d.root.Close() }

// Secret returns the content of the file without one trailing newline. A file
// that is not regular, open to others or larger than 64 KiB is an error.
func (d *Dir) Secret(_ context.Context, ref string) (sallyport.Secret, bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return sallyport.Secret{}, false, err
	}
	value, err := d.readSecret(ref)
	switch {
	// ENOTDIR is the path "a/b" where "a" is a file: nothing is there.
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return sallyport.Secret{}, false, nil
	case err != nil:
		return sallyport.Secret{}, false, fmt.Errorf("secret %s: %w", ref, err)
	case len(value) < reach.MinSecretBytes:
		return sallyport.Secret{}, false, tooShort(ref)
	}
	s := sallyport.NewSecret(value)
	d.addKnown(s)
	return s, true, nil
}

// Known returns the values of all files that Secret would hand out. The
// listing is at most a second old, and the same slice is returned until it
// changes; it must not be changed.
func (d *Dir) Known(ctx context.Context) ([]sallyport.Secret, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.listed.IsZero() && time.Since(d.listed) < knownFor {
		return d.known, nil
	}
	fresh, err := d.listSecrets(ctx)
	if err != nil {
		return nil, fmt.Errorf("secrets: dir: %w", err)
	}
	d.listed = time.Now()
	if !slices.Equal(d.known, fresh) {
		d.known = fresh
	}
	return d.known, nil
}

// readSecret reads the file of a secret without waiting for a FIFO's writer,
// and checks what was opened, not the name.
func (d *Dir) readSecret(name string) (string, error) {
	f, err := d.root.OpenFile(name, os.O_RDONLY|fsx.NoWait, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", f.Name())
	}
	if err := fsx.CheckPrivate(f.Name(), st); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("%s is larger than %d bytes", f.Name(), maxFileBytes)
	}
	return text.CutLineEnd(string(data)), nil
}

// listSecrets reads every regular file. Links are skipped: what they lead to
// inside the directory is met under its own name, and nothing outside is
// handed out.
func (d *Dir) listSecrets(ctx context.Context) ([]sallyport.Secret, error) {
	var found []sallyport.Secret
	files := 0
	err := fs.WalkDir(d.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		// What vanished or cannot be entered cannot be handed out either.
		if name != "." && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if !entry.Type().IsRegular() {
			return ctx.Err()
		}
		if files++; files > d.most {
			return fmt.Errorf("%s holds more than %d files", d.root.Name(), d.most)
		}
		if value, err := d.readSecret(name); err == nil && len(value) >= reach.MinSecretBytes {
			found = append(found, sallyport.NewSecret(value))
		}
		return ctx.Err()
	})
	return found, err
}

// addKnown adds a value that is about to be handed out to a listing that has
// not seen it. The slice is copied because the old one is in other hands.
func (d *Dir) addKnown(s sallyport.Secret) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.known, s) {
		d.known = append(slices.Clip(d.known), s)
	}
}
