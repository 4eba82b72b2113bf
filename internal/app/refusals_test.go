package app

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/audittest"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/store/memory"
)

func TestTheRefusalThatEndedTheCallIsTold(t *testing.T) {
	t.Parallel()
	access := func(fix string) sallyport.Decision { return sallyport.Decision{Step: sallyport.StepAccess, Fix: fix} }
	floor := sallyport.Decision{Step: sallyport.StepAccess, Capability: "fs_reach.read", Source: reach.FloorSource}
	host := sallyport.Decision{Step: sallyport.StepAccess, Capability: "network", Source: reach.FloorSource}
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
		{"the floor ended the call", sallyport.StepAccess, []sallyport.Decision{floor, {Step: sallyport.StepRun}}, "no setting"},
		{"the floor was met in passing", sallyport.StepAccess, []sallyport.Decision{access("host"), floor}, "host"},
		{"a host that the operator may have denied", sallyport.StepAccess, []sallyport.Decision{host}, ""},
		{"a child met the floor", "", []sallyport.Decision{access("read"), floor}, "read"},
		{"a child met more than are told", "", many, "grant 0 grant 1 grant 2 grant 3"},
		{"a held call", sallyport.StepApprove, []sallyport.Decision{{Step: sallyport.StepApprove, Fix: "approve"}}, ""},
		{"an allowed thing", "", []sallyport.Decision{{Step: sallyport.StepAccess, Allowed: true, Fix: "none"}}, ""},
	} {
		var got []string
		for _, d := range toldRefusals(&audit.Event{Kind: audit.KindOutcome, Stage: tt.stage, Decisions: tt.decisions}) {
			got = append(got, cmp.Or(d.Fix, "no setting"))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: told %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := toldRefusals(&audit.Event{Kind: audit.KindIntent, Decisions: []sallyport.Decision{access("read")}}); got != nil {
		t.Errorf("an intent is told: %v", got)
	}
}

func TestALongRefusalIsToldInShort(t *testing.T) {
	t.Parallel()
	store, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	var said strings.Builder
	r := tellingRecorder{audittest.NewLog(t, store), &Runtime{Env: &Environment{Stderr: &said}, Logger: slog.New(slog.DiscardHandler)}, ""}
	long := "/x/" + strings.Repeat("é", 1<<20)
	err = r.Record(t.Context(), &audit.Event{
		Kind: audit.KindOutcome, CallID: "c", Tool: "read_file", Principal: "p", Stage: sallyport.StepAccess,
		Decisions: []sallyport.Decision{{Step: sallyport.StepAccess, Resource: long, Why: "read " + long, Source: long, Fix: "grant " + long}},
	})
	if line := said.String(); err != nil || len(line) > 10*maxToldText || strings.Count(line, "…") != 4 || !strings.Contains(line, "more: sallyport explain --call c") {
		t.Errorf("Record = %v, and told %d bytes: %.100s", err, len(line), line)
	}
}
