package scoped

import (
	"context"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// Binding is what the accessors of one call have in common. The nil Binding is
// that of a tool without grant.
type Binding struct {
	scope                *Scope
	call                 context.Context // a binding lives for one call
	session, personality string
	principal            string
	workspace            string
	memoryScope          string
	id                   string // of the call
	tainted              bool
	turn                 Turn
	out                  func(sallyport.Decision)
	noted                decisionCounts
	connections          struct{ allowed, refused connectionNames }
	children             childRecord
	secrets              secretAccessor
	kv                   kvAccessor
}

// checkLive returns an error once the call is over: an accessor that a tool kept
// reaches nothing any more.
func (b *Binding) checkLive() error {
	if b.call.Err() != nil {
		return notAvailable("", "the call is over")
	}
	return nil
}

// Revealed returns the secret values that the call received, so that the gate
// removes them from everything the call returns. It may be called while the
// tool runs; the caller owns the slice.
func (b *Binding) Revealed() []sallyport.Secret {
	if b == nil {
		return nil
	}
	return b.secrets.listRevealed()
}

// hasDropped reports whether something of a group was declared and not granted.
func (s *Scope) hasDropped(capability string) bool {
	return slices.ContainsFunc(s.grant.Dropped, func(d sallyport.Dropped) bool { return group.Within(d.Capability, capability) })
}

// matchesAnything is for groups whose dropped entries name no item.
func matchesAnything(string) bool { return true }

// matchesItem finds the dropped entries that would have allowed an item.
func matchesItem(match func(list []string, item string) bool, item string) func(string) bool {
	return func(entry string) bool { return match([]string{entry}, item) }
}
