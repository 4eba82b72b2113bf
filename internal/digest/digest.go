// Package digest identifies files and texts by what they hold.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// The reasons for which a file is not read. The errors of [File] name the path.
var (
	// ErrIrregular: it is a folder, a device, a FIFO or a socket.
	ErrIrregular = errors.New("expected a regular file")
	// ErrTooLong: it holds more than is read.
	ErrTooLong = errors.New("the file is too long")
)

// scripts are the endings of files that an interpreter runs.
var scripts = [...]string{".js", ".mjs", ".cjs", ".ts", ".py", ".rb", ".pl", ".php", ".sh", ".lua"}

// IsScript reports whether a path has the ending of a file that an interpreter
// runs: as an argument it is a program, where any other path is text.
func IsScript(path string) bool { return slices.Contains(scripts[:], filepath.Ext(path)) }

// Text returns the SHA-256 of a text in hexadecimal.
func Text[T ~string | ~[]byte](text T) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// File returns the SHA-256 of a regular file of at most that many bytes. It
// checks what it has opened, and does not wait for a writer of a FIFO.
func File(path string, most int64) (sum [sha256.Size]byte, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return sum, err
	case !info.Mode().IsRegular():
		return sum, fmt.Errorf("%s: %w", path, ErrIrregular)
	case info.Size() > most:
		return sum, fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLong, most)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return sum, err
	case n > most: // it grows
		return sum, fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLong, most)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
