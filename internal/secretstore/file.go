package secretstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
)

const (
	// maxSealedBytes bounds an encrypted file. It holds some hundred secrets of
	// the largest size, or many thousand tokens.
	maxSealedBytes = 8 << 20
	// knownFor is how long the values of a file are not looked at again.
	knownFor = time.Second
)

var (
	// ErrLocked is the error of a file whose passphrase no user can be asked for.
	ErrLocked = errors.New("it is sealed by a passphrase, and there is no terminal to ask for it")
	// ErrNoIdentity is the error of a file that no identity could be found for.
	ErrNoIdentity = errors.New("the identity that opens it is not here")
)

// FileOptions say what opens an encrypted file.
type FileOptions struct {
	// Identities are where identities may be that open the file, tried in this
	// order. Each returns them in the form that age-keygen writes, or an empty
	// text when there are none.
	Identities []func(ctx context.Context) (string, error)
	// Seal returns the identity to which a new file is sealed, and makes it when
	// there is none. nil seals a new file by a passphrase.
	Seal func(ctx context.Context) (string, error)
	// Passphrase asks for the passphrase of the file. again is true for the
	// passphrase of a new file, which has to be typed twice. Its error may be
	// [ErrLocked], which nil stands for.
	Passphrase func(ctx context.Context, again bool) (string, error)
	// Exclusive runs a change while no other process makes one. nil means that
	// no other process changes the file.
	Exclusive func(change func() error) error
}

// File finds secrets in one file that age has encrypted (age-encryption.org):
// a JSON object whose keys are references. On Unix the file must be owned by the
// user of the process or by root, and must not be open to others. A missing file
// has no secrets. It is safe for concurrent use.
type File struct {
	path string
	o    FileOptions
	work int // the work factor of a new passphrase; 0 means that of age

	mu     sync.Mutex
	read   fs.FileInfo // of the file that was read last; nil for none
	values map[string]string
	opened *opening // what opened it
	known  []sallyport.Secret
	looked time.Time
}

// NewFile returns the secrets of a file, which need not exist yet. nil options
// open no file. It reads nothing.
func NewFile(path string, o *FileOptions) *File {
	f := &File{path: path}
	if o != nil {
		f.o = *o
	}
	return f
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Secret returns a value of the file. A file that cannot be opened is an error;
// it never has the value in its text. When the file is sealed by a passphrase,
// the first call asks for it.
func (f *File) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return sallyport.Secret{}, false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadValues(ctx, true); err != nil {
		return sallyport.Secret{}, false, fmt.Errorf("secret %s: %w", ref, err)
	}
	value, ok := f.values[ref]
	if !ok {
		return sallyport.Secret{}, false, nil
	}
	s := sallyport.NewSecret(value)
	if err := checkValue(ref, value); err != nil {
		return sallyport.Secret{}, false, err
	}
	return s, true, nil
}

// Known returns all values of the file, at most a second old. It never asks for
// a passphrase: the values of a file that is locked are not known until Secret
// has opened it. The same slice is returned until it changes; it must not be
// changed.
func (f *File) Known(ctx context.Context) ([]sallyport.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.looked.IsZero() && time.Since(f.looked) < knownFor {
		return f.known, nil
	}
	if err := f.loadValues(ctx, false); err != nil && !errors.Is(err, ErrLocked) {
		return nil, err
	}
	f.looked = time.Now()
	return f.known, nil
}

// Refs returns the sorted references of the file.
func (f *File) Refs(ctx context.Context) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.loadValues(ctx, true); err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(f.values)), nil
}

// loadValues reads the file when it is another one than before. ask is true when a
// user may be asked for its passphrase. The caller holds the lock.
func (f *File) loadValues(ctx context.Context, ask bool) error {
	sealed, info, err := readSealed(f.path, f.read)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.storeValues(nil, nil, nil)
		return nil
	case err != nil:
		return err
	case info == f.read:
		return nil
	}
	values, how, err := f.openSealed(ctx, sealed, ask)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.storeValues(info, values, how)
	return nil
}

// storeValues stores what was read. The values that were known before are no longer.
func (f *File) storeValues(info fs.FileInfo, values map[string]string, how *opening) {
	if info == nil && f.read == nil {
		return
	}
	f.read, f.values, f.known = info, values, nil
	if how != nil {
		f.opened = how
	}
	for _, ref := range slices.Sorted(maps.Keys(values)) {
		if checkValue(ref, values[ref]) == nil {
			f.known = append(f.known, sallyport.NewSecret(values[ref]))
		}
	}
}

// readSealed reads a file and checks what was opened, not the name. It returns
// was and no text when the file is the one that was read before.
func readSealed(path string, was fs.FileInfo) ([]byte, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|fsx.NoWait, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, nil, err
	case !info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxSealedBytes:
		return nil, nil, fmt.Errorf("%s is larger than %d bytes", path, maxSealedBytes)
	}
	if err := fsx.CheckPrivate(path, info); err != nil {
		return nil, nil, err
	}
	if was != nil && os.SameFile(was, info) && was.Size() == info.Size() && was.ModTime().Equal(info.ModTime()) {
		return nil, was, nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSealedBytes+1))
	if err == nil && len(text) > maxSealedBytes {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxSealedBytes)
	}
	return text, info, err
}
