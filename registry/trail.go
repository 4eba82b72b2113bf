package registry

import (
	"sync"

	"github.com/sallyport/sallyport"
)

// maxAccess bounds the decisions of the accessors of one call. It is what they
// report at most of what was granted, and with those of the steps less than a
// record holds.
const maxAccess = 100

// trail is what the steps of one call said, in order. Steps that let the call
// pass without a word take a few bytes each, so that the common call does not
// pay for a list that is not read. It is safe for concurrent use.
type trail struct {
	mu     sync.Mutex
	passed [14]sallyport.Step // as many as can pass in one call, the reducer's the last
	count  uint8
	access uint8 // remarks of accessors
	said   []trailRemark
}

// trailRemark is a decision with words and the number of steps passed before
// it.
type trailRemark struct {
	decision sallyport.Decision
	after    uint8
}

func (t *trail) passStep(s sallyport.Step) {
	t.mu.Lock()
	if int(t.count) < len(t.passed) {
		t.passed[t.count] = s
		t.count++
	}
	t.mu.Unlock()
}

// addDecision adds any other decision. Those of accessors are bounded, so
// that a tool can neither grow the trail at will nor push the steps after it
// out.
func (t *trail) addDecision(d sallyport.Decision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d.Step == sallyport.StepAccess {
		if t.access == maxAccess {
			return
		}
		t.access++
	}
	t.said = append(t.said, trailRemark{d, t.count})
}

func (t *trail) decisions() []sallyport.Decision {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]sallyport.Decision, 0, int(t.count)+len(t.said))
	next := uint8(0)
	for _, r := range t.said {
		for ; next < r.after; next++ {
			out = append(out, sallyport.Decision{Step: t.passed[next], Allowed: true})
		}
		out = append(out, r.decision)
	}
	for ; next < t.count; next++ {
		out = append(out, sallyport.Decision{Step: t.passed[next], Allowed: true})
	}
	return out
}
