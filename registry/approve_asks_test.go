package registry_test

import (
	"testing"

	"github.com/sallyport/sallyport"
)

// TestAsks: an edge puts a call before the person behind its client only where
// a human decides about it, and not where that is the operator.
func TestAsks(t *testing.T) {
	tests := []struct {
		name string
		edit func(*sallyport.Personality)
		tool string
		want bool
	}{
		{name: "a tool that is listed", tool: "held", want: true},
		{name: "a tool that is not", tool: "free"},
		{name: "a tool that nobody knows", tool: "other"},
		{name: "only the operator decides", tool: "held", edit: func(p *sallyport.Personality) { p.Approvals.OperatorOnly = true }},
		{name: "nobody decides", tool: "held", edit: func(p *sallyport.Personality) { p.Approvals = nil }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, asking(tt.edit))
			d.hold(nil)
			d.add(sallyport.Tool{Name: "free", Run: echo})
			if got := d.Asks(d.caller(), tt.tool); got != tt.want {
				t.Errorf("Asks(%s) = %v, want %v", tt.tool, got, tt.want)
			}
		})
	}
}
