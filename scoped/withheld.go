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
			d := sallyport.Decision{
				Step: sallyport.StepAccess, Capability: group.Files + "." + list.op, Resource: path,
				Why: list.op + " " + path + ": not shown to the child: " + errLinked.Error(), Source: reach.LinkSource,
			}
			if b.scope.backends.Places != nil {
				if p := b.scope.backends.Places.Place(path); p.Why != "" {
					d.Why, d.Fix = list.op+" "+path+": not shown to the child: "+p.Why, p.Fix
				}
			}
			b.recordDecision(d)
		}
	}
}
