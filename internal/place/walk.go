package place

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// Bounds of one walk. 40 links is what Linux follows (path_resolution(7)).
const (
	maxLinks    = 40
	maxElements = 4096
)

// walkResult is where a walk led.
type walkResult struct {
	// path is absolute and clean, free of links up to the first ground and as it
	// is spelled from there on; empty when the path leads nowhere.
	path string
	// through lists the folders in which links were followed.
	through []string
	// links is what was followed, for people.
	links []string
	// stop says why path is empty.
	stop string
}

// walkPath follows the links of a clean path outside the grounds. What lies in a
// ground is taken as it is spelled: a link there is not looked at, so that the
// answer does not depend on what agents do.
func (t *Table) walkPath(path string) (w walkResult) {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	at, pending := root, reach.SplitElements(path[len(filepath.VolumeName(path)):])
	for step := 0; len(pending) > 0; step++ {
		if step > maxElements || len(w.links) > maxLinks {
			return walkResult{stop: "it passes too many symbolic links"}
		}
		elem := pending[0]
		pending = pending[1:]
		closed := t.without&PartGround == 0 && t.inGround(at)
		switch {
		case elem == ".." && closed:
			return walkResult{stop: "a symbolic link leads through " + quoteName(at) + ", where tools may write, and up again"}
		case elem == "..":
			at = filepath.Dir(at)
			continue
		case closed && !slices.Contains(pending, ".."):
			w.path = filepath.Join(at, elem, filepath.Join(pending...))
			return w
		}
		next := filepath.Join(at, elem)
		info, err := os.Lstat(next)
		if err != nil {
			// What is missing, or cannot be looked at, is taken as spelled.
			if slices.Contains(pending, "..") {
				return walkResult{stop: "a symbolic link leads through " + quoteName(next) + ", which is not there, and up again"}
			}
			w.path = filepath.Join(next, filepath.Join(pending...))
			return w
		}
		if closed || !isLink(info) {
			at = next
			continue
		}
		if why := untrustedReason(at, info); why != "" {
			// It was made by neither this user nor the system: a path through
			// it is taken as it is spelled, and does not open.
			w.path = filepath.Join(next, filepath.Join(pending...))
			return w
		}
		target, err := os.Readlink(next)
		if err != nil || reach.Within("/proc", at) {
			return walkResult{stop: quoteName(next) + " is a symbolic link that cannot be followed"}
		}
		w.through = append(w.through, at)
		w.links = append(w.links, next)
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		pending = append(reach.SplitElements(target), pending...)
	}
	w.path = at
	return w
}

// isLink reports whether a name leads elsewhere: a symbolic link, and on Windows
// every reparse point, junctions among them.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// isWithin is [reach.Within] of clean paths, on systems that tell upper from
// lower case and on those that do not.
func isWithin(base, path string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		base, path = strings.ToLower(base), strings.ToLower(path)
	}
	rest, ok := strings.CutPrefix(path, base)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(base[len(base)-1]))
}

// Place says where a path leads, and whether anything is granted there at this
// moment.
func (t *Table) Place(path string) sallyport.Place {
	p, err := reach.CleanPath(path)
	if err != nil {
		return sallyport.Place{Why: err.Error()}
	}
	w := t.walkOnce(p)
	if w.path == "" {
		return sallyport.Place{Why: "the path " + quoteName(p) + " cannot be granted: " + w.stop, Fix: "spell the path without symbolic links"}
	}
	out := sallyport.Place{Path: w.path}
	g := t.groundOf(w.path)
	if g != nil {
		out.Ground = g.path
	}
	if t.unkept && slices.ContainsFunc(t.fresh, func(f sallyport.WritePlace) bool { return isWithin(f.Path, w.path) }) {
		out.Ground = ""
	}
	if !mayBeLinked(w.path) {
		return out
	}
	link, text := findLink(w.path)
	if link == "" {
		return out
	}
	out.Why = fmt.Sprintf("the granted path %s passes the symbolic link %s (to %s), %s", quoteName(p), quoteName(link), quoteName(text), t.distrustReason(link))
	out.Fix = "if you made the link, grant the folder itself in its place; if not, remove it: an agent may have made it"
	if g := t.groundOf(filepath.Dir(link)); g != nil && !g.until.IsZero() {
		out.Fix = "look at the link, then: " + t.forgetCommand(g.path)
	}
	return out
}

// forgetCommand returns the command that makes a write place one no more.
func (t *Table) forgetCommand(path string) string {
	if t.forget != nil {
		return t.forget(path)
	}
	return "sallyport reach forget " + text.ShellWord(path)
}

// distrustReason returns why a link does not count as the operator's.
func (t *Table) distrustReason(link string) string {
	g := t.groundOf(filepath.Dir(link))
	switch {
	case g == nil:
		return "which is not the operator's, or was made since the paths were read"
	case g.workspace:
		return "which lies in the workspace, whose content may come from others"
	case g.until.IsZero():
		return "which lies where " + g.by + " may write"
	default:
		return "which lies where " + g.by + " could write until " + g.until.Format("2006-01-02")
	}
}

// findLink returns the first link in a path, and its text; empty when there is
// none, or the path does not exist.
func findLink(path string) (link, text string) {
	at := filepath.VolumeName(path) + string(filepath.Separator)
	for _, elem := range reach.SplitElements(path[len(filepath.VolumeName(path)):]) {
		at = filepath.Join(at, elem)
		info, err := os.Lstat(at)
		if err != nil {
			return "", ""
		}
		if isLink(info) {
			text, _ = os.Readlink(at) // It may be gone, or be no link to read.
			return at, text
		}
	}
	return "", ""
}

// quoteName writes a name of the disk so that nothing in it steers a terminal.
func quoteName(s string) string {
	q := fmt.Sprintf("%q", s)
	if q[1:len(q)-1] == s && !strings.ContainsAny(s, " ") && s != "" {
		return s
	}
	return q
}

// Writer says for whom a place may be written, or could be; empty when it is in no
// write place. What lies in the workspace counts only where a tool may write.
func (t *Table) Writer(path string) string {
	for i := range t.grounds {
		if g := &t.grounds[i]; !g.workspace && path != "" && isWithin(g.path, path) {
			return g.by
		}
	}
	if path == "" || t.mounts.hasSingleNames() {
		return ""
	}
	at := t.mounts.spotOf(path)
	for i := range t.grounds {
		if g := &t.grounds[i]; !g.workspace && slices.ContainsFunc(t.mounts.locationsOf(g.path), func(s fsLocation) bool { return s.contains(at) }) {
			return g.by
		}
	}
	return ""
}
