package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
)

// TestWhatLedToACallIsKeptWhileItIsHeld: once everything before it can have been recorded, for
// calls that are held alone, and within a bound.
func TestWhatLedToACallIsKeptWhileItIsHeld(t *testing.T) {
	t.Parallel()
	now := time.Now()
	held := sallyport.Approval{ID: "a", Created: now}
	var b ledBook
	if _, ok := b.getLed(&held, now); ok {
		t.Error("something is kept before it was read")
	}
	b.keepLed("a", ledCall{[]earlierCall{{ID: "early"}}, now.Add(time.Second)})
	if _, ok := b.getLed(&held, now.Add(2*time.Second)); !ok {
		t.Error("it is read again at once")
	}
	if _, ok := b.getLed(&held, now.Add(time.Second+ledSettled)); ok {
		t.Error("what was read at the moment of the call is kept for good")
	}
	b.keepLed("a", ledCall{[]earlierCall{{ID: "early"}}, now.Add(2 * ledSettled)})
	if led, ok := b.getLed(&held, now.Add(time.Hour)); !ok || led[0].ID != "early" {
		t.Errorf("kept = %v, %v", led, ok)
	}
	for i := range 2 * ledKept {
		b.keepLed(fmt.Sprint(i), ledCall{})
	}
	if len(b.all) != ledKept {
		t.Errorf("%d are kept, want %d", len(b.all), ledKept)
	}
	b.keepLed("a", ledCall{})
	b.forgetEnded([]sallyport.Approval{held})
	if _, ok := b.all["a"]; !ok || len(b.all) != 1 {
		t.Errorf("%d are kept, want the one that is held", len(b.all))
	}
}
