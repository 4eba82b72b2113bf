package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
)

func TestTheRefusalThatEndedTheCallIsTold(t *testing.T) {
	t.Parallel()
	access := func(fix string) sallyport.Decision { return sallyport.Decision{Step: sallyport.StepAccess, Fix: fix} }
	many := make([]sallyport.Decision, maxTold+1)
	for i := range many {
		many[i] = access(fmt.Sprint("grant ", i))
	}
	for _, tt := range []struct {
		name      string
		stage     sallyport.Step
		decisions []sallyport.Decision
		want      string
	}{
		{"a tool looked, and was refused to write", sallyport.StepAccess, []sallyport.Decision{access("read"), access("write"), {Step: sallyport.StepRun}}, "write"},
		{"a child met two edges, one twice", "", []sallyport.Decision{access("read"), access("host"), access("read")}, "read host"},
		{"nothing lifts the one that a child met", "", []sallyport.Decision{access(""), access("host")}, "host"},
		{"a child met more than are told", "", many, "grant 0 grant 1 grant 2 grant 3"},
		{"a held call", sallyport.StepApprove, []sallyport.Decision{{Step: sallyport.StepApprove, Fix: "approve"}}, ""},
		{"an allowed thing", "", []sallyport.Decision{{Step: sallyport.StepAccess, Allowed: true, Fix: "none"}}, ""},
	} {
		var got []string
		for _, d := range liftableRefusals(&audit.Event{Kind: audit.KindOutcome, Stage: tt.stage, Decisions: tt.decisions}) {
			got = append(got, d.Fix)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: told %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := liftableRefusals(&audit.Event{Kind: audit.KindIntent, Decisions: []sallyport.Decision{access("read")}}); got != nil {
		t.Errorf("an intent is told: %v", got)
	}
}
