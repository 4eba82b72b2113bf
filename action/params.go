package action

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/window"
	"github.com/sallyport/sallyport/schema"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (b *toolBuilder) checkCommon() {
	d := b.d
	if !isID(d.ID) {
		b.addFault("/id", "expected 1 to 64 letters, digits, _ or -")
	} else if strings.HasPrefix(d.ID, "mcp__") {
		b.addFault("/id", "names that begin with mcp__ belong to MCP servers")
	}
	if d.Timeout < 0 {
		b.addFault("/timeout", "is negative")
	}
	if d.MaxResultChars < 0 {
		b.addFault("/maxResultChars", "is negative")
	}
	for i, p := range d.Permissions {
		// As the registry has it, but at its place.
		if p == "" || strings.ContainsAny(p, " \t\n,") {
			b.addFault(definition.Below("/permissions", formatInt(i)), "permission %q: expected a word such as http:read", p)
		}
	}
	if d.RateLimit != nil {
		b.rateLimit(*d.RateLimit)
	}
	_, err := schema.Compile(d.Parameters)
	b.schemaFaults("/parameters", err)
	if d.Returns != nil {
		_, err := schema.CompileAny(d.Returns)
		b.schemaFaults("/returns", err)
	}
}

// rateLimit judges the two halves of a limit each for itself, so that a fault
// stands at its key and none hides the other.
func (b *toolBuilder) rateLimit(l sallyport.RateLimit) {
	if err := window.Check(sallyport.RateLimit{Requests: l.Requests, Window: 1}); err != nil {
		b.addFault("/rateLimit/requests", "%v", err)
	}
	if err := window.Check(sallyport.RateLimit{Requests: 1, Window: l.Window}); err != nil {
		b.addFault("/rateLimit/window", "%v", err)
	}
}

func isID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	})
}

// schemaFaults takes over what is wrong with a schema.
func (b *toolBuilder) schemaFaults(at string, err error) {
	if err == nil {
		return
	}
	if faults, ok := errors.AsType[schema.Faults](err); ok {
		for _, f := range faults {
			b.addFault(at+f.Pointer, "%s", f.Message)
		}
		return
	}
	b.addFault(at, "%v", err)
}

// paramNames lists the parameters that templates may name, sorted.
func (b *toolBuilder) paramNames() []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(b.d.Parameters, &s) != nil {
		return nil // a fault of the schema, or no parameters
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
