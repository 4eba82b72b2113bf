package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAnActionIsListedByItsLabel: what an action may write stands in a role that lists the
// label which the action declares, and the label of actions only without one.
func TestAnActionIsListedByItsLabel(t *testing.T) {
	t.Parallel()
	c, err := Parse("s.yaml", []byte(`version: 2
personalities:
  all: {tools: ["@action"]}
  payers: {tools: ["@bank"]}
actions:
  - {id: pay, toolset: bank, capabilities: {fs_reach: {read: [/a], write: [/b]}}}
  - {id: plain, capabilities: {fs_reach: {read: [/c], write: [/d]}}}
`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	const key = ".capabilities.fs_reach."
	for _, tt := range []struct {
		op   string
		got  []GrantedPlace
		want []GrantedPlace
	}{
		{"read", c.ReadPlaces(), []GrantedPlace{{"/c", "all", "actions.1" + key + "read"}, {"/a", "payers", "actions.0" + key + "read"}}},
		{"write", c.WritePlaces(), []GrantedPlace{{"/d", "all", "actions.1" + key + "write"}, {"/b", "payers", "actions.0" + key + "write"}}},
	} {
		if d := cmp.Diff(tt.want, tt.got); d != "" {
			t.Errorf("what tools %s (-want +got)\n%s", tt.op, d)
		}
	}
}
