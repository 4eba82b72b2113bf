package app

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// maxReadValues bounds what is said of the values of one held call.
const maxReadValues = 20

// ReadValue is a value of the arguments of a held call that stood in untrusted content which
// its session had read.
type ReadValue struct {
	// Place is where it stands in the arguments, such as /to or /items/*/id.
	Place string
	// Value is the part that stood there.
	Value string
	// Tool and CallID name the call that brought it.
	Tool, CallID string
}

// FindReadValues returns the values of a held call that stood in what its session read, as
// far as this process remembers, by their places. More says that it is not known of others:
// more was read than is remembered here.
func (rt *Runtime) FindReadValues(ctx context.Context, a *sallyport.Approval) (list []ReadValue, more bool) {
	values, ok := splitArguments(a.Args)
	if rt.conversations == nil || !ok {
		return nil, false
	}
	kinds := map[string]sallyport.ValueKind{}
	for path, kind := range rt.findDestinations(a.Personality, a.Tool) {
		kinds["/"+strings.ReplaceAll(path, ".", "/")] = kind
	}
	reading := rt.conversations.Reads.Reading(a.Principal, a.Session, a.CallID, nil, time.Now())
	own := func(sallyport.ValueKind, string) bool { return false }
	for _, place := range slices.Sorted(maps.Keys(values)) {
		for _, value := range values[place] {
			var text string
			if json.Unmarshal([]byte(value), &text) != nil {
				text = value // a number, or true or false
			}
			m, ok, err := reading.Find(ctx, kinds[place], text, own)
			switch {
			case err != nil, ok && m.Source.CallID == "":
				more = true
			case ok && len(list) < maxReadValues:
				list = append(list, ReadValue{Place: place, Value: m.Piece, Tool: m.Source.Tool, CallID: m.Source.CallID})
			}
		}
	}
	return list, more
}
