package registry

import (
	"strings"
	"testing"
)

// TestACallThatTheGateEndedIsNotDecided: what its arguments carry is not looked for any more,
// so that it is refused.
func TestACallThatTheGateEndedIsNotDecided(t *testing.T) {
	t.Parallel()
	for _, reads := range []string{"the arguments are traced", "they are not"} {
		c, marks := meetingCall(t)
		if reads == "they are not" {
			c.doc.JSON = make([]byte, recordArgs+1)
		}
		if !c.applyFlowRules(t.Context(), marks) {
			t.Fatalf("the call is refused: %+v", c.result)
		}
		c.endRun(&Ended{Why: "its token was revoked"})
		if c.applyFlowRules(t.Context(), marks) || !strings.Contains(c.result.Error, "was ended: the caller may not go on") {
			t.Errorf("%s: %+v, want that the call was ended", reads, c.result)
		}
	}
}
