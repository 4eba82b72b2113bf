package provenance

import (
	"context"

	"github.com/sallyport/sallyport"
)

// Find is [Reading.Find] in one memory.
func (m *Memory) Find(kind sallyport.ValueKind, value string, held Held) (Match, bool) {
	r := Reading{own: m}
	match, found, err := r.Find(context.Background(), kind, value, held)
	if err != nil {
		panic(err)
	}
	return match, found
}
