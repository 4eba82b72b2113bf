package action

import (
	"strings"

	"github.com/sallyport/sallyport/internal/definition"
)

// checkDestinations faults a destination that no argument can name.
func (b *toolBuilder) checkDestinations() {
	for _, path := range definition.UnknownArguments(b.d.Parameters, b.d.Destinations) {
		name, _, _ := strings.Cut(path, ".")
		b.addFault(definition.Below("/destinations", path), "the action has no parameter %q", name)
	}
}
