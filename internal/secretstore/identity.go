package secretstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/internal/fsx"
)

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
