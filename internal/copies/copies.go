// Package copies keeps what a file held before a command changed it: the files
// of MCP clients and the configuration.
package copies

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// The name of a copy ends in the time of the change.
const (
	timeStamp  = "20060102T150405.000Z"
	nameEnding = ".bak"
	// maxBase bounds the part of the original file name that a copy's name
	// holds, in bytes.
	maxBase = 100
)

// Folder is the folder in which the copies of a user lie. A copy may hold the
// secrets of a client. The folder is therefore on the deny floor, so that
// neither an agent nor git reads it.
type Folder struct{ dir string }

// FolderOf returns the folder for the user with a home directory.
func FolderOf(home string) Folder {
	return Folder{filepath.Join(home, ".local", "state", "sallyport", "copies")}
}

// Pattern returns the pattern of the paths of all copies of one file.
func (f Folder) Pattern(path string) string {
	return filepath.Join(f.dir, namePrefix(path)+"*"+nameEnding)
}

// namePrefix returns the prefix of the names of all copies of one file.
func namePrefix(path string) string {
	base := text.FirstBytes(filepath.Base(path), maxBase)
	return base + "." + digest.Text(path)[:16] + "."
}

// ChangeFile has replace change a file. It keeps a copy of the old text and returns the
// path of the copy, or an empty path when the file is new. The copy of a new file is
// what it is to hold: copies tell the next command what an interrupted one may change.
func (f Folder) ChangeFile(c *onestep.Change, now time.Time, replace func([]onestep.Change) error) (copied string, err error) {
	text := c.Old
	if text == nil {
		text, c.Private = c.New, true
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o755); err != nil {
			return "", err
		}
	}
	if copied, err = f.Keep(c.Path, text, now); err != nil {
		return "", err
	}
	err = replace([]onestep.Change{*c})
	switch {
	case errors.Is(err, onestep.ErrUnfinished):
		return copied, err
	case err != nil:
		// Remove the copy: it may hold secrets, and the file itself is unchanged.
		return "", errors.Join(err, os.Remove(copied))
	case c.Old == nil:
		return "", os.Remove(copied)
	}
	return copied, nil
}

// Keep writes a copy of what a file holds, and returns its path.
func (f Folder) Keep(path string, content []byte, now time.Time) (copied string, err error) {
	if copied, err = f.writeCopy(path, content, now); err != nil {
		return "", fmt.Errorf("no copy of %s can be kept: %w", path, err)
	}
	return copied, nil
}

// writeCopy writes a copy that only the user may read.
func (f Folder) writeCopy(path string, content []byte, now time.Time) (copied string, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", err
	}
	for _, folder := range []string{filepath.Dir(f.dir), f.dir} {
		// A link would put the copy in a folder that another party chose.
		if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
			return "", errors.Join(err, fmt.Errorf("%s: expected a folder", folder))
		}
	}
	if err := os.Chmod(f.dir, 0o700); err != nil {
		return "", err
	}
	copied, file, err := f.createCopy(path, now)
	if err != nil {
		return "", err
	}
	_, writeErr := file.Write(content)
	if err := errors.Join(writeErr, file.Sync(), file.Close()); err != nil {
		// An incomplete copy cannot restore the file.
		return "", errors.Join(err, os.Remove(copied))
	}
	return copied, nil
}

// maxSameTime is how many commands may keep a copy of one file in the same millisecond.
const maxSameTime = 100

// createCopy creates the file of a copy. A name that another command has just taken is
// left to it: the copy then has the next millisecond in its name.
func (f Folder) createCopy(path string, now time.Time) (copied string, file *os.File, err error) {
	for range maxSameTime {
		copied = filepath.Join(f.dir, namePrefix(path)+now.UTC().Format(timeStamp)+nameEnding)
		file, err = os.OpenFile(copied, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
		now = now.Add(time.Millisecond)
	}
	return copied, file, err
}

// ListOf lists the copies of a file, the newest first. Copies that earlier versions left
// beside the file do not count: agents and other people's repositories put files
// there, and what a client starts comes from a copy.
func (f Folder) ListOf(path string) []string {
	list := listCopies(f.dir, namePrefix(path))
	slices.Reverse(list) // the names end in the time
	return list
}

// Holds reports whether a copy has the text that a file had, whatever the name of
// the file: links may lead to it.
func (f Folder) Holds(text []byte) bool {
	entries, err := os.ReadDir(f.dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		found, err := os.ReadFile(filepath.Join(f.dir, e.Name()))
		return err == nil && bytes.Equal(found, text)
	})
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
	for _, entry := range entries {
		stamp, ok := strings.CutPrefix(entry.Name(), prefix)
		stamp, ends := strings.CutSuffix(stamp, nameEnding)
		if _, err := time.Parse(timeStamp, stamp); ok && ends && err == nil {
			list = append(list, filepath.Join(dir, entry.Name()))
		}
	}
	return list
}

// WarnOfOld names the copies that earlier versions left beside files, where git
// finds them. Each copy is named once.
func (f Folder) WarnOfOld(w io.Writer, paths ...string) {
	seen := map[string]bool{}
	for _, path := range paths {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		for _, copied := range copiesBeside(path) {
			if !seen[copied] {
				seen[copied] = true
				fmt.Fprintf(w, "sallyport: warning: %s is a copy that an earlier version left; it may hold secrets, and git would take it in: remove it, or move it to %s\n",
					copied, filepath.Join(f.dir, namePrefix(path)+strings.TrimPrefix(filepath.Base(copied), filepath.Base(path)+".")))
			}
		}
	}
}
