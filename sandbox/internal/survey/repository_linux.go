package survey

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

// repositoryMarks are the names by which git knows the directory of a repository.
type repositoryMarks struct{ head, objects, refs, common bool }

func (m *repositoryMarks) recordName(name string) {
	switch len(name) {
	case len("HEAD"): // and refs
		m.head = m.head || strings.EqualFold(name, "HEAD")
		m.refs = m.refs || strings.EqualFold(name, "refs")
	case len("objects"):
		m.objects = m.objects || strings.EqualFold(name, "objects")
	case len("commondir"):
		m.common = m.common || strings.EqualFold(name, "commondir")
	}
}

func (m *repositoryMarks) isRepository() bool {
	return denyfloor.GitDirectory(func(name string) bool {
		switch name {
		case "HEAD":
			return m.head
		case "objects":
			return m.objects
		case "refs":
			return m.refs
		case "commondir":
			return m.common
		default:
			return false
		}
	})
}

// neverThere are names that git does not make in a repository by itself, or
// makes once: what is not there when a child starts is not to come.
var neverThere = []string{"hooks", "modules", "config", "config.worktree", "commondir", "info/attributes", "objects/info/alternates"}

// neverInWorktree is the same for a directory that names another one, whose
// hooks and configuration count.
var neverInWorktree = []string{"modules", "config.worktree", "commondir"}

// maskRepository masks what steers a repository, whatever its directory is
// called, and names what must not be made. What makes it a repository stays, so
// that it is one for the next survey as well.
func (w *walker) maskRepository(p surveyedDir, depth int) error {
	// Another child's placeholder may come or go at any moment: one look decides.
	found := map[string]bool{}
	for _, rel := range denyfloor.Steering() {
		c := surveyedDir{joinPath(p.real, rel), joinPath(p.named, rel)}
		h, there, err := w.statHit(c.real)
		switch {
		case err != nil:
			return err
		case there:
			found[rel] = true
			h.writeOnly, h.class, h.why = true, denyfloor.Repository, denyfloor.RepositoryReason
			if err := w.maskHit(c, h, true, depth); err != nil {
				return err
			}
			w.setRepository(c.real, p.real)
		}
	}
	modules := joinPath(p.real, "modules")
	if h, there, err := w.statHit(modules); err != nil {
		return err
	} else if there {
		found["modules"] = true
		w.modules[modules] = h.dir
	}
	names := neverThere
	if w.missingIn(p.real, "objects") && found["commondir"] {
		names = neverInWorktree
	}
	for _, rel := range names {
		if !found[rel] {
			w.addIfInReach(Mask{
				Path: joinPath(p.real, rel), Dir: rel == "hooks" || rel == "modules",
				WriteOnly: true, Missing: true, Repository: p.real,
				Class: denyfloor.Repository, Why: denyfloor.RepositoryReason,
			})
		}
	}
	for _, name := range []string{"objects", "refs"} {
		if h, there, err := w.statHit(joinPath(p.real, name)); err != nil {
			return err
		} else if there && h.dir {
			w.addIfInReach(Mask{
				Path: joinPath(p.real, name), Dir: true, WriteOnly: true, Kept: true,
				Class: denyfloor.Repository, Why: denyfloor.RepositoryReason,
			})
		}
	}
	return nil
}

// guardSubmodules has nothing be made in a directory that leads to those of
// submodules, for git would take it for that of one which is declared, now or
// later. Those that are there stay open.
func (w *walker) guardSubmodules(p surveyedDir, l *dirListing) {
	w.addIfInReach(Mask{
		Path: p.real, Dir: true, WriteOnly: true, Kept: true, Closed: !l.repository, Open: l.repository,
		Class: denyfloor.Repository, Why: denyfloor.RepositoryReason,
	})
	if l.repository {
		return
	}
	for _, name := range l.subs {
		w.modules[p.childOf(name).real] = true
	}
}

// setRepository records in a mask whose repository it steers.
func (w *walker) setRepository(path, repository string) {
	if m, ok := w.masks[path]; ok {
		m.Repository = repository
		w.masks[path] = m
	}
}

func (w *walker) missingIn(dir, rel string) bool {
	_, there, err := w.statHit(joinPath(dir, rel))
	return err == nil && !there
}

// statHit returns what is at a path at present.
func (w *walker) statHit(path string) (h floorHit, there bool, err error) {
	var st unix.Stat_t
	switch err := unix.Lstat(path, &st); {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return floorHit{}, false, nil
	case errors.Is(err, unix.EACCES):
		return floorHit{}, false, nil // The directory around it is judged for itself.
	case err != nil:
		return floorHit{}, false, err
	}
	kind := st.Mode & unix.S_IFMT
	return floorHit{dir: kind == unix.S_IFDIR, link: kind == unix.S_IFLNK}, true, nil
}
