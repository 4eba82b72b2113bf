package guest

import (
	"context"
	"testing"
	"time"
)

// TestTheContextOfACallEnds ends with the call, and with its time, whether it was waited
// for before or after.
func TestTheContextOfACallEnds(t *testing.T) {
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if c := (&callContext{deadline: past}); c.Err() == nil {
		t.Error("no end at the end of the time")
	}
	c := &callContext{deadline: future}
	if at, ok := c.Deadline(); !ok || at != future || c.Err() != nil || c.Value(1) != nil || c.inner != nil {
		t.Errorf("deadline %v, %t, end %v, timer %v", at, ok, c.Err(), c.inner)
	}
	before := c.Done()
	child, cancel := context.WithCancel(c)
	defer cancel()
	c.endCall()
	<-before
	<-child.Done()
	if c.Err() == nil {
		t.Error("no end at the end of the call")
	}
	c = &callContext{deadline: future}
	c.endCall()
	if <-c.Done(); c.Err() == nil {
		t.Error("no end behind the end of the call")
	}
}
