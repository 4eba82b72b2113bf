package sallyport

import (
	"context"
	"time"
)

// Places decides where the paths of a configuration lead. A grant is for the
// place to which its path leads, not for how it is spelled: a symbolic link that
// only an operator can have made is followed once, and from the first folder on
// in which tools may write a granted path must be free of links. It must be safe
// for concurrent use.
type Places interface {
	// Place says where an absolute, clean path leads at this moment. It looks at
	// the disk and changes nothing.
	Place(path string) Place
	// Revision changes whenever a path may lead elsewhere than before.
	Revision() uint64
}

// Place is where a path of a configuration leads.
type Place struct {
	// Path is absolute and clean, and must be opened without following any
	// symbolic link. It is empty when the path leads nowhere that can be granted.
	Path string
	// Ground is the folder or file around Path, or Path itself, in which tools
	// may write; empty when there is none.
	Ground string
	// Why says why nothing at Path is granted at this moment, for the operator;
	// empty when it is. What it quotes of the disk is escaped.
	Why string
	// Fix is the edit that would turn Why around; it never spells where a link
	// leads, which an agent may have chosen.
	Fix string
}

// WritePlace is a folder or file in which tools may write, or once could.
type WritePlace struct {
	// Path is absolute, clean and free of symbolic links.
	Path string `json:"path"`
	// By says for whom it is, such as "personality default".
	By string `json:"by"`
	// First is when it was first known to be in force.
	First time.Time `json:"first"`
	// Last is when it was last known to be in force, to the day.
	Last time.Time `json:"last"`
}

// MaxWritePlaces bounds what a [PlaceLedger] keeps. Only configurations add to
// it, a handful of paths each.
const MaxWritePlaces = 4096

// PlaceLedger remembers every place in which tools of any configuration of a
// state could write: a symbolic link that was made there is still there when the
// configuration has become narrower. It must be safe for concurrent use, also by
// several processes.
type PlaceLedger interface {
	// WritePlaces returns all places, sorted by path.
	WritePlaces(ctx context.Context) ([]WritePlace, error)
	// KeepWritePlaces stores places before tools write there. Of a path that is
	// known, the earlier First stays, and By and Last become those given. It
	// returns when everything is on the disk, or an error; more places than
	// MaxWritePlaces are an error.
	KeepWritePlaces(ctx context.Context, places []WritePlace) error
	// ForgetWritePlace removes a place; found is false when there is none.
	ForgetWritePlace(ctx context.Context, path string) (found bool, err error)
}
