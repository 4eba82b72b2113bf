package file

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxDepth bounds the levels below the directory where a walk starts;
	// source trees stay below 20.
	maxDepth = 40
	// maxEntries bounds the names that one walk looks at: a large monorepo
	// fits, a whole disk does not.
	maxEntries = 200_000
)

// walkEntry is one file or directory that a walk visits.
type walkEntry struct {
	// name is the absolute name for the accessor.
	name string
	// shown is the slash-separated form for people and models: relative to
	// the workspace when the walk is inside it.
	shown string
	// below is the path below the directory where the walk started.
	below string
	// depth is 1 for the entries of that directory.
	depth int
	dir   bool
	link  bool
}

// errStopWalk ends a walk early without a failure.
var errStopWalk = errors.New("stop the walk")

// walk visits what is below a directory in the order of the names. Symbolic
// links are visited and never followed, so it sees each file once and ends.
type walk struct {
	fs sallyport.FS
	// hidden includes names that begin with a dot.
	hidden bool
	// all includes what .gitignore files and alwaysIgnored leave out.
	all bool
	// maxDepth is the deepest level to visit; 0 means maxDepth.
	maxDepth int

	// entries counts the names looked at.
	entries int
	// unreadable counts directories below the first that could not be
	// listed, tooDeep those that were too deep.
	unreadable, tooDeep int
	// full is true when maxEntries ended the walk.
	full bool
}

// walkedDir is a directory together with the forms of its name.
type walkedDir struct {
	name, shown, below string
	// rooted is the path that ignore rules are compared with, with a slash
	// at its end unless it is empty.
	rooted string
	level  *ignoreLevel
	depth  int
}

// run visits everything below root and returns the first error of visit other
// than errStopWalk. A root that cannot be listed is an error.
func (w *walk) run(ctx context.Context, root, workspace string, visit func(walkEntry) error) error {
	w.maxDepth = cmp.Or(w.maxDepth, maxDepth)
	p := walkedDir{name: root, shown: shownPath(root, workspace)}
	if !w.all {
		p = w.readParentRules(p, workspace)
	}
	if p.shown == "." {
		p.shown = ""
	}
	return ignoreStop(w.visitDir(ctx, p, visit))
}

// ignoreStop drops the error that ends a walk early.
func ignoreStop(err error) error {
	if err == errStopWalk {
		return nil
	}
	return err
}

// readParentRules collects the ignore rules of the directories around the one where the
// walk starts, when it lies below the workspace. It goes upwards and ends at
// the first that may not be read, so that a narrow grant costs one refusal.
func (w *walk) readParentRules(p walkedDir, workspace string) walkedDir {
	if workspace == "" || p.shown == "." || path.IsAbs(p.shown) || filepath.IsAbs(p.shown) {
		return p
	}
	p.rooted = p.shown + "/"
	var levels []*ignoreLevel // the nearest first
	for dir := path.Dir(p.shown); ; dir = path.Dir(dir) {
		base := 0
		if dir != "." {
			base = len(dir) + 1
		}
		rules, err := w.readIgnoreRules(filepath.Join(workspace, filepath.FromSlash(dir)))
		if err != nil {
			break
		}
		levels = append(levels, &ignoreLevel{base: base, rules: rules})
		if dir == "." {
			break
		}
	}
	for _, l := range slices.Backward(levels) {
		p.level = p.level.withRules(l.base, l.rules)
	}
	return p
}

// readIgnoreRules reads the .gitignore of a directory. A missing one has no rules.
func (w *walk) readIgnoreRules(dir string) ([]ignoreRule, error) {
	var data bytes.Buffer
	err := readHead(&data, w.fs, filepath.Join(dir, ".gitignore"), maxIgnoreBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return parseIgnore(data.String()), err
}

// visitDir visits one directory. A directory that cannot be listed ends the walk
// only when it is the first.
func (w *walk) visitDir(ctx context.Context, p walkedDir, visit func(walkEntry) error) error {
	list, err := w.fs.ReadDir(p.name)
	if err != nil {
		if p.depth == 0 {
			return err
		}
		w.unreadable++
		return nil
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if !w.all && slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		if rules, err := w.readIgnoreRules(p.name); err == nil {
			p.level = p.level.withRules(len(p.rooted), rules)
		}
	}
	for _, e := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.visitEntry(ctx, p, e, visit); err != nil {
			return err
		}
	}
	return nil
}

// visitEntry visits one entry of a directory and, if it is a directory, what is
// below.
func (w *walk) visitEntry(ctx context.Context, p walkedDir, e fs.DirEntry, visit func(walkEntry) error) error {
	if w.entries++; w.entries > maxEntries {
		w.full = true
		return errStopWalk
	}
	name, dir := e.Name(), e.IsDir()
	if !w.hidden && name[0] == '.' {
		return nil
	}
	rooted := p.rooted + name
	if !w.all && (dir && alwaysIgnored(name) || p.level.isIgnored(rooted, name, dir)) {
		return nil
	}
	mode := e.Type()
	if !dir && !mode.IsRegular() && mode&fs.ModeSymlink == 0 {
		return nil // A pipe, a socket or a device holds no text.
	}
	v := walkEntry{
		name: filepath.Join(p.name, name), shown: path.Join(p.shown, name), below: path.Join(p.below, name),
		depth: p.depth + 1, dir: dir, link: mode&fs.ModeSymlink != 0,
	}
	if err := visit(v); err != nil || !dir {
		return err
	}
	if v.depth >= w.maxDepth {
		w.tooDeep++
		return nil
	}
	return w.visitDir(ctx, walkedDir{v.name, v.shown, v.below, rooted + "/", p.level, v.depth}, visit)
}

// boundNotes says what the walk left out because of a bound.
func (w *walk) boundNotes() []string {
	var notes []string
	if w.full {
		notes = append(notes, fmt.Sprintf("stopped after %d names; give a narrower path", maxEntries))
	}
	if w.tooDeep > 0 && w.maxDepth == maxDepth {
		notes = append(notes, fmt.Sprintf("%s deeper than %d levels left out", text.CountForms(w.tooDeep, "directory", "directories"), maxDepth))
	}
	if w.unreadable > 0 {
		notes = append(notes, text.CountForms(w.unreadable, "directory", "directories")+" could not be listed")
	}
	return notes
}

// shownPath is the form of an absolute name for people and models: relative
// to the workspace inside it, absolute elsewhere, always with slashes.
func shownPath(name, workspace string) string {
	if workspace != "" {
		if rel, err := filepath.Rel(workspace, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return filepath.ToSlash(name)
}

// readHead reads at most limit bytes of a file without noting that the
// session has read it.
func readHead(to *bytes.Buffer, fsys fs.FS, name string, limit int64) error {
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	_, err = to.ReadFrom(io.LimitReader(f, limit))
	return err
}
