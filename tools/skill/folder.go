package skill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// suffix ends the name of the file of a skill; inFolder is its name in a folder of
	// its own.
	suffix, inFolder = ".md", "SKILL.md"
	// summaryBytes is how much of a skill is read for its summary, and summaryChars how
	// long that is.
	summaryBytes, summaryChars = 4 << 10, 200
)

// isName reports whether a text can be the name of a skill. It has no separator, no dot
// and no byte that a file system reads in its own way.
func isName(name string) bool {
	for _, r := range name {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxNameChars
}

// findNames returns the sorted names of the skills; more is true when they are not all.
func findNames(ctx context.Context, folder fs.FS) (names []string, more bool, err error) {
	dir, err := folder.Open(".")
	if err != nil {
		return nil, false, newFolderError(err)
	}
	defer func() { _ = dir.Close() }() // Nothing was written.
	list, ok := dir.(fs.ReadDirFile)
	if !ok {
		return nil, false, newFolderError(fs.ErrInvalid)
	}
	entries, err := list.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, newFolderError(err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		if name := strings.TrimSuffix(e.Name(), suffix); isName(name) && findFile(folder, name) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	more = len(entries) == maxEntries || len(names) > maxListed
	return names[:min(len(names), maxListed)], more, nil
}

// findFile returns the path of a skill in the folder, empty when there is none. Only a
// regular file within the folder is one.
func findFile(folder fs.FS, name string) string {
	for _, path := range []string{name + "/" + inFolder, name + suffix} {
		if info, err := fs.Stat(folder, path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// readText returns the text of a skill. The error is fs.ErrNotExist when there is none.
func readText(folder fs.FS, name string, limit int64) (string, error) {
	path := findFile(folder, name)
	if path == "" {
		return "", fs.ErrNotExist
	}
	data, err := readFile(folder, path, limit+1)
	switch {
	case err != nil:
		return "", newSkillError(name, "cannot be read", err)
	case int64(len(data)) > limit:
		return "", newSkillError(name, fmt.Sprintf("has more than %d bytes", limit), nil)
	case !utf8.Valid(data) || slices.Contains(data, 0):
		return "", newSkillError(name, "is no text in UTF-8", nil)
	}
	return string(data), nil
}

// readFile reads the beginning of a regular file.
func readFile(folder fs.FS, path string, limit int64) ([]byte, error) {
	f, err := folder.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fs.ErrInvalid)
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

// readSummary returns one line of what a skill is about: the description of its front
// matter, or else its first line of text. It is empty for a skill that cannot be read,
// which reading it tells.
func readSummary(folder fs.FS, name string) string {
	data, err := readFile(folder, findFile(folder, name), summaryBytes)
	if err != nil {
		return ""
	}
	matter, first := false, ""
	for i, line := range strings.Split(strings.ToValidUTF8(string(data), ""), "\n") {
		line = strings.TrimSpace(line)
		switch about, found := strings.CutPrefix(line, "description:"); {
		case line == "---":
			matter = i == 0
		case matter && found:
			return text.Clip(strings.Trim(strings.TrimSpace(about), `"'`), summaryChars)
		case !matter && first == "":
			first = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
	}
	return text.Clip(first, summaryChars)
}

// newFolderError says that no skill can be read, without the path.
func newFolderError(err error) error {
	return &sallyport.Error{
		Code: sallyport.CodeNotAvailable, Operation: "read", Detail: "the folder of the skills cannot be read", Err: err,
	}
}

func newSkillError(name, what string, err error) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: name, Operation: "read", Detail: "the skill " + name + " " + what, Err: err,
	}
}
