package provenance

import "slices"

// callSet is a set of calls, by digests of their ids, of which some still run. The zero
// value is empty. A session makes many: a map would take four times as much.
type callSet struct {
	ids     []uint64 // sorted
	running []uint64 // those that have not ended
}

func (s *callSet) has(call uint64) bool {
	_, ok := slices.BinarySearch(s.ids, call)
	return ok
}

// begin adds a call, which runs.
func (s *callSet) begin(call uint64) {
	if at, ok := slices.BinarySearch(s.ids, call); !ok {
		s.ids = slices.Insert(s.ids, at, call)
	}
	if !slices.Contains(s.running, call) {
		s.running = append(s.running, call)
	}
}

// end says that a call runs no more.
func (s *callSet) end(call uint64) {
	if at := slices.Index(s.running, call); at >= 0 {
		s.running = slices.Delete(s.running, at, at+1)
	}
}

// runsBeside reports whether another call runs.
func (s *callSet) runsBeside(call uint64) bool {
	return slices.ContainsFunc(s.running, func(one uint64) bool { return one != call })
}

// bytes returns how much the set takes, in bytes.
func (s *callSet) bytes() int { return 8 * (cap(s.ids) + cap(s.running)) }
