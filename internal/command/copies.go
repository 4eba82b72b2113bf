package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/fsx"
)

// The names of copies hold the time of the change. A copy may hold the secrets
// of a client. It therefore lies in the user's state folder, which is on the
// deny floor, so that neither an agent nor git reads it.
const (
	copyStamp  = "20060102T150405.000Z"
	copyEnding = ".bak"
	// copyBase bounds the part of the original file name that a copy's name
	// holds, in bytes.
	copyBase = 100
)

// copyDir returns the folder of the copies.
func (e *environment) copyDir() string {
	return filepath.Join(e.home, ".local", "state", "sallyport", "copies")
}

// copyPrefix returns the prefix of the names of all copies of one file.
func copyPrefix(path string) string {
	base := filepath.Base(path)
	if len(base) > copyBase {
		base = strings.ToValidUTF8(base[:copyBase], "")
	}
	sum := sha256.Sum256([]byte(path))
	return base + "." + hex.EncodeToString(sum[:8]) + "."
}

// changeFile replaces the text of a file, provided that the file still holds
// the old text. It keeps a copy of the old text and returns the path of the
// copy, or an empty path when the file is new.
func (e *environment) changeFile(path string, old, text []byte, now time.Time) (copied string, err error) {
	found, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && old == nil:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return "", err
		}
		return "", fsx.ReplaceFile(path, text)
	case err != nil:
		return "", err
	case !bytes.Equal(found, old):
		return "", fmt.Errorf("%s was changed while it was read: nothing was done to it, try again", path)
	}
	if copied, err = e.copyFile(path, old, now); err != nil {
		return "", fmt.Errorf("no copy of %s can be kept: %w", path, err)
	}
	if err := fsx.ReplaceFile(path, text); err != nil {
		// Remove the copy: it may hold secrets, and the file itself is
		// unchanged.
		return "", errors.Join(err, os.Remove(copied))
	}
	return copied, nil
}

// copyFile writes a copy that only the user may read.
func (e *environment) copyFile(path string, text []byte, now time.Time) (copied string, err error) {
	dir := e.copyDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	for _, folder := range []string{filepath.Dir(dir), dir} {
		// A link would put the copy in a folder that another party chose.
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
			return "", errors.Join(err, fmt.Errorf("%s: expected a folder", folder))
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	copied = filepath.Join(dir, copyPrefix(path)+now.UTC().Format(copyStamp)+copyEnding)
	file, err := os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, writeErr := file.Write(text)
	if err := errors.Join(writeErr, file.Sync(), file.Close()); err != nil {
		// An incomplete copy cannot restore the file.
		return "", errors.Join(err, os.Remove(copied))
	}
	return copied, nil
}

// copiesOf lists the copies of a file, the newest first. The list includes the
// copies that earlier versions left beside the file.
func (e *environment) copiesOf(path string) []string {
	list := append(listCopies(e.copyDir(), copyPrefix(path)), copiesBeside(path)...)
	stamp := func(name string) string {
		name = strings.TrimSuffix(name, copyEnding)
		return name[max(0, len(name)-len(copyStamp)):]
	}
	slices.SortStableFunc(list, func(a, b string) int { return strings.Compare(stamp(b), stamp(a)) })
	return list
}

// copiesBeside lists the copies that earlier versions left in the folder of a
// file.
func copiesBeside(path string) []string {
	return listCopies(filepath.Dir(path), filepath.Base(path)+".")
}

// listCopies lists the copies in a folder whose names begin with a prefix.
func listCopies(dir, prefix string) (list []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a folder that cannot be listed offers no copy
	}
	for _, f := range entries {
		stamp, ok := strings.CutPrefix(f.Name(), prefix)
		stamp, ends := strings.CutSuffix(stamp, copyEnding)
		if _, err := time.Parse(copyStamp, stamp); ok && ends && err == nil {
			list = append(list, filepath.Join(dir, f.Name()))
		}
	}
	return list
}

// warnOfCopies names the copies that earlier versions left where git finds
// them. It looks beside the files of clients and beside the further files.
func (e *environment) warnOfCopies(further ...string) {
	folders, seen := e.clientFolders(), map[string]bool{}
	for _, c := range clients.Known() {
		further = append(further, c.Files(folders)...)
	}
	for _, path := range further {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		for _, copied := range copiesBeside(path) {
			if !seen[copied] {
				seen[copied] = true
				fmt.Fprintf(e.stderr, "sallyport: warning: %s is a copy that an earlier version left; it may hold secrets, and git would take it in: remove it, or move it to %s\n",
					copied, filepath.Join(e.copyDir(), copyPrefix(path)+strings.TrimPrefix(filepath.Base(copied), filepath.Base(path)+".")))
			}
		}
	}
}
