package app

import (
	"errors"
	"io/fs"
	"os"
)

// skillFolder is the operator's folder of skills as a file system. Nothing that is opened
// lies outside of it, wherever links lead, and nothing but regular files and folders is
// opened. The folder may come and go.
type skillFolder string

// Open opens a file or folder for reading.
func (s skillFolder) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	root, err := os.OpenRoot(string(s))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // Files stay open without it.
	// A pipe or a device would keep the call waiting.
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return root.Open(name)
}
