package survey

import (
	"context"
	"io/fs"
	"slices"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// The operations of the floor.
const (
	opRead  = "read"
	opWrite = "write"
)

// reachRoot is one path of the reach.
type reachRoot struct{ given, real, op string }

// walker is one survey under way.
type walker struct {
	*Surveyor
	ctx         context.Context
	floor       *denyfloor.Floor
	reach       []string
	write       []string
	masks       map[string]Mask
	found       int
	directories int
	// bounds are those of the part that is being walked; crowded are the
	// directories that are to be withheld in part.
	bounds  surveyBounds
	crowded map[string]bool
	// visited and links are the directories and the links that were counted,
	// keys those of the links in aliased.
	visited, links, keys []string
	// kernel are the mounts that hold no files.
	kernel map[string]bool
	// aliased are the directories that were looked at under another name, and
	// whether something was found there.
	aliased map[string]bool
	// modules are the directories that lead to those of submodules.
	modules map[string]bool
	// linked are the protected files with several names.
	linked    []fs.FileInfo
	linkedKey string
}

// surveyedDir is a directory with the name that the floor is asked about. The two
// differ when a symbolic link leads there.
type surveyedDir struct{ real, named string }

func (p surveyedDir) childOf(name string) surveyedDir {
	if p.real == p.named {
		c := joinPath(p.real, name)
		return surveyedDir{c, c}
	}
	return surveyedDir{joinPath(p.real, name), joinPath(p.named, name)}
}

func (p surveyedDir) isAlias() bool { return p.real != p.named }

// joinPath is filepath.Join for a clean directory and a plain name.
func joinPath(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

// checkName asks the floor about a name, which may be that of a regular file.
func (w *walker) checkName(name string, write, file bool) (Mask, bool) {
	op := opRead
	if write {
		op = opWrite
	}
	rule, denied := w.floor.Rule(op, name, file)
	if !denied {
		return Mask{}, false
	}
	m := Mask{Class: rule.Class, Why: rule.Reason}
	if write {
		_, unreadable := w.floor.Check(opRead, name)
		m.WriteOnly = !unreadable
	}
	return m, true
}

func (w *walker) isWritable(real string) bool { return isInside(w.write, real) }

// addMask adds a mask; the stricter of two for one path counts.
func (w *walker) addMask(m Mask) {
	w.found++
	old, ok := w.masks[m.Path]
	switch {
	case ok && (!old.WriteOnly || m.Kept):
		return
	case ok && m.Repository == "":
		m.Repository = old.Repository
	}
	if ok && old.Class != denyfloor.Project && m.Class == denyfloor.Project {
		m.Class, m.Why = old.Class, old.Why
	}
	w.masks[m.Path] = m
}

// Surveyor walks trees and remembers directories that did not change. It is
// safe for concurrent use.
type Surveyor struct {
	cache *cache
	names *rulePrefixes
	limit surveyBounds
	// mounts lists what is mounted; tests replace it.
	mounts func() ([]MountPoint, error)
}

// surveyBounds are the limits of one survey; tests lower them.
type surveyBounds struct{ directories, depth, masks, aliases int }

// isInside reports whether a clean path is one of the clean roots or below it.
func isInside(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return reach.Within(r, p) })
}

// dirListing is what counts in one directory.
type dirListing struct {
	state  dirState
	stable bool
	// linkedKey names the set of hard links that files were compared with.
	linkedKey string
	hits      []floorHit
	// links are symbolic links that may give a directory a name under which
	// part of it is on the floor.
	links []string
	// subs are the directories to enter.
	subs []string
	// repository means that git takes this directory for that of a repository.
	repository bool
}

// floorHit is an entry on the floor.
type floorHit struct {
	name      string
	dir, link bool
	writeOnly bool
	class     denyfloor.Class
	why       string
}

// size is about what a listing occupies.
func (l *dirListing) size() int64 {
	n := int64(160)
	for _, h := range l.hits {
		n += int64(len(h.name)) + 56
	}
	for _, s := range l.links {
		n += int64(len(s)) + 16
	}
	for _, s := range l.subs {
		n += int64(len(s)) + 16
	}
	return n
}
