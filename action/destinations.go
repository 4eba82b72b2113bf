package action

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/definition"
)

// checkDestinations faults a destination that no argument can name: it would hold
// nothing.
func (b *toolBuilder) checkDestinations() {
	if len(b.d.Destinations) == 0 {
		return
	}
	var parameters map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if json.Unmarshal(b.d.Parameters, &parameters) == nil {
		_ = json.Unmarshal(parameters["properties"], &properties) // a schema at fault is told elsewhere
	}
	for key, value := range parameters {
		closed := key == "additionalProperties" && string(value) == "false"
		if !closed && !slices.Contains([]string{"type", "properties", "required", "description", "title"}, key) {
			return // it may have other arguments
		}
	}
	for _, path := range slices.Sorted(maps.Keys(b.d.Destinations)) {
		if name, _, _ := strings.Cut(path, "."); properties[name] == nil {
			b.addFault(definition.Below("/destinations", path), "the action has no parameter %q", name)
		}
	}
}
