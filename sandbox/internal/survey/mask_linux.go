package survey

import (
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
)

// Mask is an existing path at or below the reach that is on the floor.
type Mask struct {
	// Path is absolute and free of symbolic links, except that the last
	// element is one when Link is set. A path of the reach that is denied as a
	// whole has a mask with its own resolved path.
	Path string
	// Dir is true for a directory, and for a missing path that is to be one.
	Dir bool
	// WriteOnly means that the path stays readable.
	WriteOnly bool
	// Link means that the path is a symbolic link in the write reach which
	// must not be replaced: clone it with AT_SYMLINK_NOFOLLOW and mount it on
	// itself. Where it leads has a mask of its own. WriteOnly is set, too.
	Link bool
	// Dev and Ino are the file that was judged; zero when it was gone at once.
	Dev, Ino uint64
	// Class is that of the rule on the floor.
	Class denyfloor.Class
	// Repository is the directory of a repository that the path steers, when
	// the path is in the write reach. For a path of the runtime's own it is the
	// directory of the write reach in which the path lies.
	Repository string
	// Missing means that nothing is there, and that nothing may be put there.
	Missing bool
	// Kept is a directory that must stay where it is; what is in it counts for
	// itself.
	Kept bool
	// Closed is a kept directory in which nothing may be made, and Open a kept one
	// in it which may be written.
	Closed, Open bool
	// But lists what of a withheld directory is shown all the same, by path:
	// what was there first. The rest of it was too much to look at.
	But []Shown
	// Why says for operators what is protected.
	Why string
}

// Shown is an entry of a withheld directory that a child gets.
type Shown struct {
	// Path is absolute and free of symbolic links.
	Path string
	// Dev and Ino are the file that was judged.
	Dev, Ino uint64
}

// Covers reports whether a path is what the mask covers, or lies in it.
func (m *Mask) Covers(path string) bool {
	return reach.Within(m.Path, path) &&
		!slices.ContainsFunc(m.But, func(s Shown) bool { return reach.Within(s.Path, path) })
}

// whyCrowded is the reason of a mask over a directory that holds too much.
const whyCrowded = "holds more than can be looked at (%d directories, %d paths on the floor, %d links); " +
	"only what was there first is shown; remove what need not be there"

// Withheld reports whether a directory is shown in part, because it holds too
// much.
func (m *Mask) Withheld() bool {
	return m.Why != "" && strings.HasPrefix(m.Why, whyCrowded[:len("holds more than")])
}
