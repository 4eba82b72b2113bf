package reach

import (
	"strings"

	"github.com/sallyport/sallyport"
)

// These stand in a decision for the place of the rule that decided, where no
// line of a configuration holds one.
const (
	// FloorSource is the source of a decision about a path or host that no grant
	// reaches.
	FloorSource = "always-deny floor"
	// LinkSource is the source of a decision about what a symbolic link
	// withholds: the path is granted, and the decision brings its own fix.
	LinkSource = "symbolic link"
	// CommitSource is the source of decisions about what a child wrote in overlay
	// mode and was not carried over: the file is within reach, and no declaration
	// would change it.
	CommitSource = "overlay commit"
	// UnattributedSource is the source of decisions about what changed while a
	// child ran, by an unknown writer: it was not seen to be used.
	UnattributedSource = "not attributed"
)

// IsFinal reports whether no setting lifts a refusal: it is about the floor, and not about
// what changed while it was looked at.
func IsFinal(d *sallyport.Decision) bool {
	return !d.Allowed && d.Fix == "" && d.Source == FloorSource && !strings.Contains(d.Why, "changed at the same time")
}
