package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/overlay"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// reachArea is one path of the reach as a child gets it.
type reachArea struct {
	// real is the path of the grant, which is free of links.
	real              string
	read, write, exec bool
	dev, ino          uint64
	dir               bool
}

// reachPlan is what a grant becomes: the areas, the masks over the deny floor,
// and in overlay mode the private layers.
type reachPlan struct {
	areas []reachArea
	// packages are the installed packages, which lie on the deny floor and are
	// shown by themselves.
	packages []reachArea
	masks    []survey.Mask
	// layers is the private layers of overlay mode by real path.
	layers map[string]overlay.Mount
	// trays are the folders of granted files that do not exist yet, outer ones first.
	trays []reachTray
	// reserved are the placeholders that lie in repositories in reach.
	reserved []string
	// given is where paths lead that the operator spells through links.
	given map[string]string
	// linked are granted paths that pass a link, which is not followed.
	linked []string
}

// notFromHost reports whether a child has something of its own in the place of
// a path. What lies below the folders for temporary files is shown when it is
// granted; the folders are private.
func notFromHost(path string) bool { return path == tmpDir || path == varTmpDir || ofKernel(path) }

// planReach plans the reach of a grant as it is now.
func (r *Runner) planReach(ctx context.Context, g *sallyport.Grant) (*reachPlan, error) {
	p := &reachPlan{given: g.FS.Names}
	for _, granted := range []struct {
		paths []string
		area  reachArea
	}{
		{g.FS.Read, reachArea{read: true, exec: true}},
		{g.FS.Write, reachArea{write: true}},
		{g.Process.ExecFrom, reachArea{write: true, exec: true}},
	} {
		for _, path := range granted.paths {
			if err := p.addPath(path, granted.area); err != nil {
				return nil, err
			}
		}
	}
	for _, path := range g.Process.Programs {
		if err := p.addProgram(path, r.floor); err != nil {
			return nil, err
		}
	}
	p.mergeAreas()
	if err := p.rejectWriteOnlyTemp(); err != nil {
		return nil, err
	}
	var err error
	p.masks, err = r.platform.survey.Floor(ctx, r.floor, p.pathsAndNames(false), p.pathsAndNames(true))
	if err != nil {
		return nil, fmt.Errorf("deny floor: %w", err)
	}
	if g.FS.Mode == sallyport.FSOverlay {
		// In a layer of its own a child may change them, and make what is not there;
		// the commit holds it.
		p.masks = slices.DeleteFunc(p.masks, func(m survey.Mask) bool {
			return m.Missing || m.Closed || m.Open || m.Class == denyfloor.Project && m.WriteOnly
		})
	}
	// What is on the floor as a whole is not shown at all, nor is a part of it
	// that is granted for itself.
	p.areas = slices.DeleteFunc(p.areas, func(a reachArea) bool {
		return slices.ContainsFunc(p.masks, func(m survey.Mask) bool {
			if m.Path == a.real {
				return !m.WriteOnly && len(m.But) == 0
			}
			return !m.WriteOnly && m.Dir && m.Covers(a.real)
		})
	})
	return p, nil
}

// rejectWriteOnlyTemp refuses what may be written and not read below the
// private folders for temporary files: rules of Landlock add up along a path,
// and there the child may read.
func (p *reachPlan) rejectWriteOnlyTemp() error {
	for _, a := range p.areas {
		if a.write && !a.read && (reach.Within(tmpDir, a.real) || reach.Within(varTmpDir, a.real)) {
			return unavailableError("a folder below "+tmpDir+" or "+varTmpDir+" cannot be granted to a child for writing only: "+a.real, nil)
		}
	}
	return nil
}

// addPath opens one path of the reach without following a link. A path that
// does not exist gives nothing, never its parent; nor does one on which there
// is a link: a process that may write beside it could show a child any content
// under its name.
func (p *reachPlan) addPath(path string, a reachArea) error {
	if path == "/" {
		return p.addRoot(a)
	}
	if notFromHost(path) {
		return nil
	}
	st, err := places.Stat(path)
	switch {
	case errors.Is(err, places.ErrLink):
		if !slices.Contains(p.linked, path) {
			p.linked = append(p.linked, path)
		}
		return nil
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("reach %s: %w", path, err)
	}
	kind := st.Mode & unix.S_IFMT
	if kind != unix.S_IFDIR && kind != unix.S_IFREG {
		return nil
	}
	a.real, a.dir, a.dev, a.ino = path, kind == unix.S_IFDIR, uint64(st.Dev), st.Ino
	p.areas = append(p.areas, a)
	return nil
}

// addRoot adds the entries of the root, which is not shown itself: the tree has
// one of its own. Links in it lead to what is granted with it.
func (p *reachPlan) addRoot(a reachArea) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return fmt.Errorf("reach /: %w", err)
	}
	for _, e := range entries {
		name := "/" + e.Name()
		if real, err := filepath.EvalSymlinks(name); err == nil && real != name {
			p.addName(name, real)
			name = real
		}
		if err := p.addPath(name, a); err != nil {
			return err
		}
	}
	return nil
}

// addName records another name of a path.
func (p *reachPlan) addName(given, real string) {
	names := maps.Clone(p.given)
	if names == nil {
		names = map[string]string{}
	}
	names[given], p.given = real, names
}

// mergeAreas makes one area of each path, hands the rights of an outer area to
// those inside, and puts the outer ones first.
func (p *reachPlan) mergeAreas() {
	slices.SortStableFunc(p.areas, func(a, b reachArea) int {
		return cmp.Or(len(a.real)-len(b.real), strings.Compare(a.real, b.real))
	})
	var out []reachArea
	for _, a := range p.areas {
		known := false
		for i := range out {
			o := &out[i]
			if !reach.Within(o.real, a.real) {
				continue
			}
			if o.real == a.real {
				known = true
				// A path that may be written is executable only when that was
				// granted for writing.
				o.exec = mergeExec(*o, a)
				o.read, o.write = o.read || a.read, o.write || a.write
				continue
			}
			a.exec = mergeExec(*o, a)
			a.read, a.write = a.read || o.read, a.write || o.write
		}
		if !known {
			out = append(out, a)
		}
	}
	p.areas = out
}

// mergeExec joins the right to execute of two areas of one path.
func mergeExec(a, b reachArea) bool {
	switch {
	case a.write == b.write:
		return a.exec || b.exec
	case a.write:
		return a.exec
	default:
		return b.exec
	}
}

// realPaths lists the real paths that may be written, or all of them.
func (p *reachPlan) realPaths(write bool) []string {
	var list []string
	for _, a := range p.areas {
		if a.write || !write {
			list = append(list, a.real)
		}
	}
	return slices.Compact(list)
}

// pathsAndNames lists the same paths with the names by which the operator knows
// them: the floor is asked about both. /home/u that leads to /data/u stays a
// home.
func (p *reachPlan) pathsAndNames(write bool) []string {
	list := p.realPaths(write)
	for _, real := range slices.Clone(list) {
		for given, led := range p.given {
			if reach.Within(led, real) {
				list = append(list, given+strings.TrimPrefix(real, strings.TrimSuffix(led, "/")))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// workingDir returns the working directory of a child: inside the reach, by its
// real path.
func (p *reachPlan) workingDir(s *sallyport.Spawn, private string) (string, error) {
	asked := s.Options.Dir
	if strings.ContainsRune(asked, 0) {
		return "", sallyport.InputInvalid("the working directory holds a NUL byte")
	}
	path := cmp.Or(asked, s.Workspace)
	if path == "" {
		return private, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Workspace, path)
	}
	if !filepath.IsAbs(path) {
		return "", sallyport.InputInvalid("the working directory is relative and the call has no workspace")
	}
	real, err := filepath.EvalSymlinks(path)
	within := err == nil && (slices.ContainsFunc(p.areas, func(a reachArea) bool { return a.dir && reach.Within(a.real, real) }) ||
		p.hasTray(func(dir string) bool { return dir == real }))
	if within {
		if info, err := os.Stat(real); err == nil && info.IsDir() {
			return real, nil
		}
		return "", sallyport.InputInvalid("the working directory " + asked + " is not a directory")
	}
	if asked == "" {
		// Where only parts of the workspace are in reach, the tree has the
		// folder with nothing else in it, and relative names lead to them.
		holds := func(name string) bool { return reach.Within(real, name) }
		if err == nil && (slices.ContainsFunc(p.pathsAndNames(false), holds) || p.hasTray(holds)) {
			return real, nil
		}
		return private, nil
	}
	inside := func(a reachArea) bool { return reach.Within(a.real, reach.FollowNames(p.given, filepath.Clean(path))) }
	if errors.Is(err, os.ErrNotExist) && slices.ContainsFunc(p.areas, inside) {
		return "", sallyport.FileNotFound(asked)
	}
	return "", sallyport.PathError("enter", asked)
}
