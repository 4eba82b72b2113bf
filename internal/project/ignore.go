package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport/internal/fsx"
)

const (
	ignoreName = ".gitignore"
	// maxIgnoreBytes bounds the file that is read and written again: a larger
	// one is no list of names.
	maxIgnoreBytes = 1 << 20
)

// ignoreHead says in the file why the line is there.
const ignoreHead = "# The state of sallyport and its key: not for others."

// IgnoreFile returns the path of the file that keeps git from the state of a project.
func IgnoreFile(dir string) string { return filepath.Join(dir, ignoreName) }

// Ignore returns the file in a folder that keeps git from state and key, with the text
// that it has, nil for none, and the text that it needs; nil when it needs no change.
func Ignore(dir string) (path string, old, text []byte, err error) {
	path = IgnoreFile(dir)
	if text, err = planIgnore(dir, stateFolder); err != nil || text == nil {
		return path, nil, nil, err
	}
	if old, err = os.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, text, nil
	}
	return path, old, text, err
}

// planIgnore returns the text of .gitignore in a folder with a line that keeps
// git from another folder in it. The text is nil when the file needs no change:
// it has a line about that folder, or git would not read it.
func planIgnore(dir, folder string) ([]byte, error) {
	path := filepath.Join(dir, ignoreName)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return addIgnored(nil, folder), nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, nil // git follows no link here
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	}
	old, err := readBounded(path, maxIgnoreBytes)
	if err != nil || mentionsFolder(old, folder) {
		return nil, err
	}
	return addIgnored(old, folder), nil
}

// addIgnored returns a text with a line for a folder at its end, in the line
// endings of the text.
func addIgnored(old []byte, folder string) []byte {
	end := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		end = "\r\n"
	}
	added := ""
	if len(old) > 0 {
		if !bytes.HasSuffix(old, []byte("\n")) {
			added = end
		}
		added += end
	}
	return append(bytes.Clone(old), added+ignoreHead+end+folder+"/"+end...)
}

// mentionsFolder reports whether a line of the text is about the folder. Such a
// line may also begin with "!": then a person wants git to see the folder.
func mentionsFolder(text []byte, folder string) bool {
	for line := range strings.Lines(string(bytes.TrimPrefix(text, []byte("\ufeff")))) {
		line = strings.TrimPrefix(strings.TrimRight(line, " \t\r\n"), "!")
		line = strings.TrimPrefix(strings.TrimPrefix(line, "**"), "/")
		for _, ending := range []string{"/**", "/*", "/"} {
			line = strings.TrimSuffix(line, ending)
		}
		if line == folder {
			return true
		}
	}
	return false
}

// readBounded reads a file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is longer than %d bytes", path, most)
	}
	return text, err
}

// writeIgnore writes what planIgnore returned. The mode of a file that exists
// stays; a new one is readable like the rest of the project.
func writeIgnore(dir string, text []byte) error {
	path := filepath.Join(dir, ignoreName)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return fsx.WriteNew(path, text)
	}
	return fsx.ReplaceFile(path, text)
}
