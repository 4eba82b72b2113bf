// Package tray decides which granted files that do not exist yet a child can
// create, and says of the others why it cannot.
//
// A child sees its grant as mounts of what exists, and nothing can be mounted
// where nothing is. In the place of the folder of such a file it gets a tray: a
// folder in memory that shows of the host what is granted there, takes new
// files, and of which the granted names are carried back. The sandbox makes the
// trays that [PlanTrays] names; explain and check say what it refuses, so that all of
// them give one answer. The answer depends on the grant, the level and the disk.
package tray

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

// MaxShown bounds the entries of a folder that a tray shows, each of which is a
// mount.
const MaxShown = 1000

// Tray is the folder of granted files that do not exist yet.
type Tray struct {
	// Dir is the folder on the host.
	Dir string
	// Names are the files in it.
	Names []string
	// Read says that the child may read one of the files.
	Read bool
	// Shown says that the folder itself is granted for reading, so that the tray
	// shows what is in it.
	Shown bool
}

// Refusal is a granted file that a child cannot create.
type Refusal struct {
	// Path is the file.
	Path string
	// Why is the reason.
	Why string
	// Fix is the command or edit that would allow it.
	Fix string
}

// PlanTrays sorts the granted files that do not exist into trays, outer ones first,
// and refusals. What lies in a folder that may be written is in neither.
func PlanTrays(g *sallyport.FSGrant, level sallyport.Level) (trays []Tray, refused []Refusal) {
	if level == sallyport.LevelNone || level == "" {
		return nil, nil // Nothing keeps a child from creating a file.
	}
	p := planner{grant: g, level: level, seen: map[string]*entry{}}
	for _, path := range g.Write {
		dir := filepath.Dir(path)
		if p.statPath(path) != nil || p.isClosed(path) || p.isWritable(dir) {
			continue
		}
		if r := p.findReason(path, dir); r != nil {
			refused = append(refused, *r)
			continue
		}
		i := slices.IndexFunc(trays, func(t Tray) bool { return t.Dir == dir })
		if i < 0 {
			i = len(trays)
			trays = append(trays, Tray{Dir: dir, Shown: isCovered(g.Read, dir)})
		}
		t := &trays[i]
		t.Read = t.Read || isCovered(g.Read, path)
		if name := filepath.Base(path); !slices.Contains(t.Names, name) {
			t.Names = append(t.Names, name)
		}
	}
	slices.SortStableFunc(trays, func(a, b Tray) int { return len(a.Dir) - len(b.Dir) })
	return trays, refused
}

// CheckPath says whether a child can write a path of its grant that does not exist:
// nil when it can, or when something is there.
func CheckPath(g *sallyport.FSGrant, level sallyport.Level, path string) *Refusal {
	if level == sallyport.LevelNone || level == "" {
		return nil
	}
	p := planner{grant: g, level: level, seen: map[string]*entry{}}
	if p.statPath(path) != nil || p.isWritable(path) {
		return nil
	}
	if slices.Contains(g.Write, path) {
		return p.findReason(path, filepath.Dir(path))
	}
	for _, granted := range g.Write {
		if granted != path && reach.Within(granted, path) && p.statPath(granted) == nil {
			return &Refusal{
				Path: path, Why: "the granted folder " + granted + " does not exist, and a child cannot create it", Fix: "mkdir -p " + text.ShellWord(granted),
			}
		}
	}
	return nil
}

// planner answers for one grant.
type planner struct {
	grant *sallyport.FSGrant
	level sallyport.Level
	seen  map[string]*entry
}

// entry is what is at a path. A path that is closed has a link on it, or cannot
// be looked at.
type entry struct {
	info   fs.FileInfo
	closed bool
}

func (p *planner) lookAt(path string) *entry {
	if e, ok := p.seen[path]; ok {
		return e
	}
	e := &entry{}
	f, err := place.Open(path)
	if err != nil {
		e.closed = !errors.Is(err, os.ErrNotExist)
	} else {
		e.info, _ = f.Stat() // Of an open file.
		_ = f.Close()        // It was only looked at.
	}
	p.seen[path] = e
	return e
}

// statPath describes what is at a path, nil when nothing is.
func (p *planner) statPath(path string) fs.FileInfo { return p.lookAt(path).info }

func (p *planner) isClosed(path string) bool { return p.lookAt(path).closed }

// isWritable reports whether a folder lies in one that is there and granted for
// writing: what is created in it is created on the host.
func (p *planner) isWritable(dir string) bool {
	return slices.ContainsFunc(p.grant.Write, func(w string) bool {
		if !reach.Within(w, dir) {
			return false
		}
		info := p.statPath(w)
		return info != nil && info.IsDir()
	})
}

// findReason returns why there is no tray for a file.
func (p *planner) findReason(path, dir string) *Refusal {
	r := &Refusal{Path: path, Fix: "touch " + text.ShellWord(path) + ", or mkdir where a folder is meant, or grant its folder " + dir}
	switch info := p.statPath(dir); {
	case p.level != sallyport.LevelFull && p.level != sallyport.LevelStrict:
		r.Why = "the level " + string(p.level) + " has no mount namespace, in which alone a child can create a file that is granted by its own name"
	case p.grant.Mode == sallyport.FSOverlay:
		r.Why = "in overlay mode a child creates files in granted folders only"
	case info == nil || !info.IsDir():
		r.Why = "its folder " + dir + " does not exist"
		r.Fix = "mkdir -p " + text.ShellWord(dir)
	case isOwn(dir):
		r.Why = "in " + dir + " a child has files of its own"
		r.Fix = "grant a file in another folder"
	case isCovered(p.grant.Read, dir):
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) <= MaxShown {
			return nil
		}
		r.Why = "its folder " + dir + " cannot be listed"
		if err == nil {
			r.Why = "its folder " + dir + " has more entries than a child can be shown beside a new file"
		}
	case isCovered(p.grant.Read, path) && p.hasHidden(dir):
		r.Why = "another path in " + dir + " may be written and not read"
	default:
		return nil
	}
	return r
}

// hasHidden reports whether something in a folder may be written and not read.
// Rules of Landlock add up along a path: a folder that may be read would open it.
func (p *planner) hasHidden(dir string) bool {
	return slices.ContainsFunc(p.grant.Write, func(w string) bool {
		return w != dir && reach.Within(dir, w) && p.statPath(w) != nil && !isCovered(p.grant.Read, w)
	})
}

// own is where the tree of a child has files that are not the host's, or those
// that all children see.
var own = []string{
	"/bin", "/dev", "/etc", "/gnu/store", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/proc", "/run", "/sbin", "/sys", "/usr",
}

// isOwn reports whether a tray at a folder would hide what a child needs.
func isOwn(dir string) bool {
	if slices.Contains([]string{"/tmp", "/tmp/home", "/var", "/var/tmp"}, dir) {
		return true
	}
	return slices.ContainsFunc(own, func(o string) bool { return reach.Within(o, dir) || reach.Within(dir, o) })
}

// isCovered reports whether a path lies in one of a list.
func isCovered(list []string, path string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return reach.Within(l, path) })
}
