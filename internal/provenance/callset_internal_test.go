package provenance

import (
	"math/rand/v2"
	"testing"
)

// A set of calls is what a map with those that run would be, and takes little.
func TestACallSetIsASetOfCalls(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var s callSet
	running := map[uint64]bool{} // false for one that has ended
	for range 20_000 {
		call := random.Uint64N(maxRead)
		switch random.IntN(3) {
		case 0:
			s.begin(call)
			running[call] = true
		case 1:
			s.end(call)
			if running[call] {
				running[call] = false
			}
		default:
			beside := false
			for other, runs := range running {
				beside = beside || runs && other != call
			}
			if _, ok := running[call]; ok != s.has(call) || s.runsBeside(call) != beside {
				t.Fatalf("of call %d it has %v, want %v; beside it runs %v, want %v", call, s.has(call), ok, s.runsBeside(call), beside)
			}
		}
	}
	var full callSet
	for call := range uint64(maxRead) {
		full.begin(call * 0x9e3779b97f4a7c15)
		full.end(call * 0x9e3779b97f4a7c15)
	}
	if len(full.ids) != maxRead || full.bytes() > 64<<10 {
		t.Errorf("%d calls take %d bytes, want %d in 64 KiB at most", len(full.ids), full.bytes(), maxRead)
	}
}
