package scoped

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

// Probe decides about one thing as the accessors of a bound call would, and
// reaches for nothing: no file is opened, no name is looked up, nothing is
// started or sent. The capability is one of those of [sallyport.Touch]. A
// refusal is the error with which the accessor would refuse, and is noted like
// it; nil means that the grant covers the thing, as far as that can be told
// beforehand.
func Probe(c *sallyport.Call, capability, item string) error {
	name, operation, _ := strings.Cut(capability, ".")
	if list, ok := group.FindReach(capability); ok && list.Probed {
		for i := range accessors {
			if accessors[i].group == name {
				return probeWith(accessors[i].accessorOf(c), operation, item)
			}
		}
	}
	return fmt.Errorf("%s: no accessor decides about single things", capability)
}

// probeWith asks an accessor that this package made. Another one, which a test
// or a program put in its place, decides when the tool runs.
func probeWith(accessor any, operation, item string) error {
	p, ok := accessor.(interface {
		Probe(operation, item string) error
	})
	if !ok {
		return nil
	}
	return p.Probe(operation, item)
}
