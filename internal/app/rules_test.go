package app

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/digest"
)

func TestAStopEndsTheRulesOfWhatItStops(t *testing.T) {
	t.Parallel()
	key := sallyport.SessionKey("a/b", "s1")
	r := &approvals.Rule{Tool: "mcp__notes__add", Principal: "a/b", Session: "s1", Shape: &sallyport.ApprovalShape{Session: digest.Text(key)}}
	for _, tt := range []struct {
		kind auth.SwitchKind
		name string
		want bool
	}{
		{auth.SwitchEverything, auth.Everything, true},
		{auth.SwitchPrincipal, "a/b", true},
		{auth.SwitchPrincipal, "a", false},
		{auth.SwitchSession, key, true},
		{auth.SwitchSession, sallyport.SessionKey("a", "b/s1"), false},
		{auth.SwitchSession, sallyport.SessionKey("a/b", "s2"), false},
		{auth.SwitchTool, "mcp__notes__add", true},
		{auth.SwitchTool, "mcp__notes__drop", false},
		{auth.SwitchServer, "notes", true},
		{auth.SwitchServer, "note", false},
	} {
		if got := stoppedBy(tt.kind, tt.name)(r); got != tt.want {
			t.Errorf("a stop of %s %s ends the rule: %t, want %t", tt.kind, tt.name, got, tt.want)
		}
	}
}
