package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// changeFile replaces the text of a file that is still what was read, and keeps
// a copy of it beside it, whose path it returns; none of a file that is new.
func (e *environment) changeFile(path string, old, text []byte, now time.Time) (copied string, err error) {
	found, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && old == nil:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		return "", replaceFile(path, text)
	case err != nil:
		return "", err
	case !bytes.Equal(found, old):
		return "", fmt.Errorf("%s was changed while it was read: nothing was done to it, try again", path)
	}
	if copied, err = e.copyFile(path, old, now); err != nil {
		return "", err
	}
	if err := replaceFile(path, text); err != nil {
		// It may hold secrets, and is what is still there.
		return "", errors.Join(err, os.Remove(copied))
	}
	return copied, nil
}

// The copies of files are named after the time of the change.
const (
	copyStamp  = "20060102T150405.000Z"
	copyEnding = ".bak"
)

// copyFile keeps a text beside its file, with the mode of the file.
func (e *environment) copyFile(path string, text []byte, now time.Time) (copied string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	copied = path + "." + now.UTC().Format(copyStamp) + copyEnding
	file, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, writeErr := file.Write(text)
	if err := errors.Join(writeErr, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close()); err != nil {
		// Half a copy is the way back to nothing.
		return "", errors.Join(err, os.Remove(copied))
	}
	return copied, nil
}

// copiesOf lists the copies of a file, the newest first.
func (e *environment) copiesOf(path string) (list []string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return nil // who cannot list the folder has no copy to offer
	}
	for _, f := range entries {
		stamp, ok := strings.CutPrefix(f.Name(), filepath.Base(path)+".")
		stamp, ends := strings.CutSuffix(stamp, copyEnding)
		if _, err := time.Parse(copyStamp, stamp); ok && ends && err == nil {
			list = append(list, filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}
