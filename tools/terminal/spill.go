package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
)

// spillFolder takes the outputs that are too long. It begins with a dot, so
// that searches and lists do not show it.
const spillFolder = ".terminal"

// errPlanted keeps an output from a name that leads somewhere else.
var errPlanted = errors.New("a name is taken")

// spillOutput writes the output to a file in write reach, the workspace first. It
// returns the file's path, which is empty when there is none, and the note
// for the line about what was left out. With an overlay nothing is written
// into the workspace but what was carried over from it.
func (r *childReport) spillOutput(overlay bool) (path, note string) {
	switch {
	case r.discard:
		return "", "; a preview keeps no output"
	case overlay:
		return "", "; the output was not kept, because writes go to an overlay"
	}
	folders := []string{spillFolder}
	if r.cwd != "" {
		folders = append(folders, filepath.Join(r.cwd, spillFolder))
	}
	for _, folder := range folders {
		name := filepath.Join(folder, fileName(r.call.ID))
		err := r.writeNewFile(folder, name)
		switch {
		case errors.Is(err, sallyport.ErrPathNotReachable):
			continue
		case errors.Is(err, errPlanted):
			return "", "; the output was not kept, because " + quoteUnprintable(r.shortenPath(r.call.FS.Abs(folder))) +
				" is no folder of its own, or has the file already"
		case err != nil:
			return "", "; the output was not kept, because its file could not be written"
		}
		path = r.call.FS.Abs(name)
		if r.out.isCut() {
			return path, fmt.Sprintf("; the first %d MiB are in %s", maxKept>>20, path)
		}
		return path, "; the whole output is in " + path
	}
	return "", "; the output was not kept, because neither the workspace nor the folder of the command may be written"
}

// writeNewFile writes one output. The folder is where commands write too, and a link
// of theirs would lead the output over another file: the folder must be one,
// and nothing in it is overwritten. Who is listed beside it is asked for and
// not the name itself, because a link is seen only there.
func (r *childReport) writeNewFile(folder, name string) error {
	whole := r.out.kept
	if r.whole != nil {
		whole = r.whole
	}
	files := r.call.FS
	above, err := entryOf(files, folder)
	if err != nil {
		return err
	}
	ignore := filepath.Join(folder, ".gitignore")
	ignored := false
	switch {
	case above == nil:
	case !above.IsDir():
		return errPlanted
	default:
		old, err := entryOf(files, name)
		if err != nil {
			return err
		}
		mine, err := entryOf(files, ignore)
		if err != nil {
			return err
		}
		if old != nil || mine != nil && !mine.Type().IsRegular() {
			return errPlanted
		}
		ignored = mine != nil
	}
	if err := files.WriteFile(name, whole); err != nil {
		return err
	}
	if !ignored {
		// Without this the next git status would list the outputs. Its
		// failure changes nothing.
		_ = files.WriteFile(ignore, []byte("*\n"))
	}
	return nil
}

// entryOf returns the entry of a name in its folder, nil when there is none.
func entryOf(files sallyport.FS, name string) (fs.DirEntry, error) {
	list, err := files.ReadDir(filepath.Dir(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.Name() == filepath.Base(name) {
			return e, nil
		}
	}
	return nil, nil
}

// fileName makes a file name of a call's id, which is the gate's own and is
// not trusted for that all the same.
func fileName(id string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			return c
		default:
			return '_'
		}
	}, id)
	if name == "" || len(name) > 100 {
		name = "output"
	}
	return name + ".log"
}
