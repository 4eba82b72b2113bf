//go:build !linux

package place

import (
	"os"
)

func mayBeLinked(string) bool { return true }

// Open opens an absolute path for looking at it, and follows no symbolic link on
// the way. Here it looks at each element by its name and compares what it opened
// with what it saw; see docs/guarantees.md for what that leaves open. A link is
// [ErrLink]; what does not exist, or lies below a file, is [os.ErrNotExist].
func Open(path string) (*os.File, error) {
	passesLink := &os.PathError{Op: "open", Path: path, Err: ErrLink}
	if link, _ := findLink(path); link != "" {
		return nil, passesLink
	}
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if isLink(seen) {
		return nil, passesLink
	}
	f, err := openSeen(path, seen)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if link, _ := findLink(path); err == nil && (link != "" || !os.SameFile(info, seen)) {
		err = passesLink
	}
	if err != nil {
		_ = f.Close() // It was only looked at.
		return nil, err
	}
	return f, nil
}
