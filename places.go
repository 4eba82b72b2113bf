package sallyport

import (
	"context"
	"time"
)

// Places decides where the paths of a configuration lead. A grant is for the
// place to which its path leads, not for the spelling of the path. A symbolic
// link that only an operator can have made is followed once. From the first
// folder on in which tools may write, a granted path must be free of links. It
// must be safe for concurrent use.
type Places interface {
	// Place returns the place to which an absolute, clean path leads at this
	// moment. It looks at the disk and changes nothing.
	Place(path string) Place
	// Revision returns a number that changes whenever a path may lead elsewhere
	// than before.
	Revision() uint64
}

// Place is where a path of a configuration leads.
type Place struct {
	// Path is absolute and clean, and must be opened without following any
	// symbolic link. It is empty when the path leads to no place that can be
	// granted.
	Path string
	// Ground is the folder or file in which tools may write and that contains
	// Path, or is Path itself; empty when there is none.
	Ground string
	// Why is the reason why nothing at Path is granted at this moment, for the
	// operator; empty when Path is granted. It escapes what it quotes from the
	// disk.
	Why string
	// Fix is the edit that would remove the reason in Why. It never spells the
	// target of a link, which an agent may have chosen.
	Fix string
}

// WritePlace is a folder or file in which tools may write or could write
// before.
type WritePlace struct {
	// Path is absolute, clean and free of symbolic links.
	Path string `json:"path"`
	// By names the holder of the write access, such as "personality default".
	By string `json:"by"`
	// First is the earliest time at which it was known to be in force.
	First time.Time `json:"first"`
	// Last is the latest time at which it was known to be in force, to the day.
	Last time.Time `json:"last"`
}

// MaxWritePlaces bounds the number of places in a [PlaceLedger]. Only
// configurations add places to it, each a handful of paths.
const MaxWritePlaces = 4096

// PlaceLedger stores every place in which tools could write under any
// configuration of a state: a symbolic link that was made there still exists
// after the configuration has become narrower. It must be safe for concurrent
// use, and for use by several processes.
type PlaceLedger interface {
	// WritePlaces returns all places, sorted by path.
	WritePlaces(ctx context.Context) ([]WritePlace, error)
	// KeepWritePlaces stores places before tools write there. For a path that
	// is already known, the earlier First stays, and By and Last are replaced.
	// It returns when everything is on the disk, or with an error. More places
	// than MaxWritePlaces are an error.
	KeepWritePlaces(ctx context.Context, places []WritePlace) error
	// ForgetWritePlace removes a place; found is false when there is none.
	ForgetWritePlace(ctx context.Context, path string) (found bool, err error)
}
