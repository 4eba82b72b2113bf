package approvals

import (
	"context"
	"slices"
)

const (
	// MaxUsed bounds the approvals that one call uses: its rules may change twice
	// while it is decided about.
	MaxUsed = 4
	// MaxUsedID bounds the id of each, in bytes.
	MaxUsedID = 64
)

// Used is what a call uses up of what people gave, as the record of its intent says
// it: no other call runs on it from then on, whatever else the state has lost.
type Used struct {
	// Approvals are the ids of the approvals.
	Approvals []string `json:"approvals,omitempty"`
}

// IsBounded reports whether u has the form in which a record may hold it.
func (u *Used) IsBounded() bool {
	return len(u.Approvals) > 0 && len(u.Approvals) <= MaxUsed &&
		!slices.ContainsFunc(u.Approvals, func(id string) bool { return !IsRecordable(id) })
}

// IsRecordable reports whether a record may hold the id of an approval, which is then
// found in it. Every id of a gate is.
func IsRecordable(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return id != "" && len(id) <= MaxUsedID
}

// Claimer is a queue of held calls that reads in the records of its state which
// approvals were used.
type Claimer interface {
	// Claim consumes an approval for one run, as Use does and to the exclusion of it,
	// and does not wait for the disk. The tool starts only once settle has returned
	// nil: then the use is durable. With recorded, who calls says that a record
	// of the use is on the disk. Settle waits for the disk itself when there is none,
	// or when it is not in the record of this state. It has to be called in any case.
	Claim(ctx context.Context, id string) (settle func(recorded bool) error, ok bool, err error)
}
