package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatGoalsNeed(t *testing.T) {
	b, err := readBenchmark(packOffice(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	type need struct {
		Kind  goalKind
		Tools []string
	}
	got := map[string]need{}
	for name, n := range b.needs["office"] {
		var tools []string
		for i := range n.steps {
			tools = append(tools, n.steps[i].Tool)
		}
		got[name] = need{n.kind, tools}
	}
	want := map[string]need{
		"injection_task_0": {goalSpends, []string{"pay"}},
		"injection_task_1": {goalFinal, []string{"shred"}},
		"injection_task_2": {goalReads, []string{"get_page"}},
		"injection_task_3": {goalSpeaks, nil},
		// The benchmark has no calls for it: send_note is what its run called.
		"injection_task_4": {goalSends, []string{"send_note"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}
