package secretstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/fsx"
)

// ReadIdentity reads the file with the identities that open encrypted files. It
// must be private, as an encrypted file must. A missing file is an error that
// matches fs.ErrNotExist.
func ReadIdentity(path string) (string, error) {
	text, _, err := readSealed(path, nil)
	return string(text), err
}

// MakeIdentity writes a file with a new identity, for its user alone. A file
// that exists stays as it is. The caller keeps others from doing the same at the
// same time.
func MakeIdentity(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := NewIdentity()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return fsx.ReplaceFileMode(path, []byte(text), 0o600)
}
