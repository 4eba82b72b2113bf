package scoped

import (
	"errors"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/internal/reach"
)

// recordWithheld records the granted places that a child is not shown, because a
// symbolic link is on their paths.
func (b *Binding) recordWithheld() {
	g := b.scope.grant
	for _, list := range []struct {
		op    string
		paths []string
	}{{opRead, g.FS.Read}, {opWrite, g.FS.Write}} {
		for _, path := range list.paths {
			if _, _, err := statIdentity(path); !errors.Is(err, places.ErrLink) {
				continue
			}
			b.recordDecision(newWithheldDecision(b.scope.backends.Places, list.op, path, path, ": not shown to the child: "))
		}
	}
}

// newWithheldDecision says why a granted place is withheld at this moment, and
// the edit that would turn that around. A nil places knows no reasons.
func newWithheldDecision(places sallyport.Places, op, asked, granted, phrase string) sallyport.Decision {
	why, fix := errLinked.Error(), ""
	if places != nil {
		if p := places.Place(granted); p.Why != "" {
			why, fix = p.Why, p.Fix
		}
	}
	return sallyport.Decision{
		Step: sallyport.StepAccess, Capability: group.Files + "." + op, Resource: asked,
		Why: op + " " + asked + phrase + why, Source: reach.LinkSource, Fix: fix,
	}
}
