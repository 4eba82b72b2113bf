package config

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/approvals"
)

// TestTheNearestEntrySaysWhoDecides: what an entry for a tool leaves out is as that of its
// server says, and then as the role says; prompts and resources of a server are as it says.
func TestTheNearestEntrySaysWhoDecides(t *testing.T) {
	t.Parallel()
	c, err := Parse("s.yaml", []byte(`version: 2
personalities:
  team:
    approvals:
      approvers:
        by: [page:ann]
        escalate: {after: 10m, to: [page:boss]}
        tools:
          send: {by: [local, page:ben], needed: 2}
          "mcp__bank__*": {by: [page:carl, page:dora], needed: 2}
          mcp__bank__pay: {needed: 1}
  labels:
    approvals:
      approvers:
        by: [page:ann, page:ben]
        tools:
          "*": {needed: 2}
          "@mail": {by: [page:carl], needed: 1}
          "@mcp": {by: [page:carl, page:dora]}
          "mcp__bank__*": {needed: 1}
          forward: {by: [local]}
  other: {}
`), testOptions())
	if err != nil {
		t.Fatal(err)
	}
	boss := []string{"page:boss"}
	for tool, want := range map[string]approvals.Approvers{
		"read":                    {By: []string{"page:ann"}, After: 10 * time.Minute, To: boss},
		"send":                    {By: []string{"local", "page:ben"}, Needed: 2, After: 10 * time.Minute, To: boss},
		"mcp__bank__list":         {By: []string{"page:carl", "page:dora"}, Needed: 2, After: 10 * time.Minute, To: boss},
		"prompt:mcp__bank__pay":   {By: []string{"page:carl", "page:dora"}, Needed: 2, After: 10 * time.Minute, To: boss},
		"resource:mcp__bank__pay": {By: []string{"page:carl", "page:dora"}, Needed: 2, After: 10 * time.Minute, To: boss},
		"mcp__bank__pay":          {By: []string{"page:carl", "page:dora"}, Needed: 1, After: 10 * time.Minute, To: boss},
		"mcp__banker__pay":        {By: []string{"page:ann"}, After: 10 * time.Minute, To: boss},
	} {
		got := c.Approvers("team", tool, nil) // it is not asked for labels
		if got.Source == "" {
			t.Errorf("%s: the rule has no place", tool)
		}
		if got.Source = ""; fmt.Sprint(got) != fmt.Sprint(want) || got.Needed != want.Needed {
			t.Errorf("%s: %+v, want %+v", tool, got, want)
		}
	}
	if got := c.Approvers("other", "send", nil); got.SaysAnything() || got.Source != "" {
		t.Errorf("another role: %+v, want nothing", got)
	}
	if !c.Approvers("gone", "send", nil).NoRole || c.Approvers("", "send", nil).NoRole {
		t.Error("want a role that is not there to be told from none")
	}
	labels := func(tool string) (string, bool) {
		label, known := map[string]string{"send": "mail", "forward": "mail", "read": "file", "mcp__bank__pay": "mcp", "mcp__wiki__read": "mcp", "own": ""}[tool]
		return label, known
	}
	for tool, want := range map[string]string{
		"read": "2 different people of: page:ann, page:ben", "own": "2 different people of: page:ann, page:ben", "send": "page:carl", "forward": "local",
		"mcp__wiki__read": "2 different people of: page:carl, page:dora", "mcp__bank__pay": "page:carl, page:dora",
		"gone": (&approvals.Approvers{NoRole: true}).String(),
	} {
		if got := c.Approvers("labels", tool, labels); got.String() != want {
			t.Errorf("%s by labels: %s, want %s", tool, got.String(), want)
		}
	}
}

// TestWhoSignsInAtThePageDecides: a role for the tokens of a provider keeps no person of it from
// deciding who signs in at the page.
func TestWhoSignsInAtThePageDecides(t *testing.T) {
	t.Parallel()
	const text = `version: 2
personalities: {team: {approvals: {approvers: {by: ["oidc:ann"]}}}}
security: {oidc: {issuer: "https://login.example.com", audience: a, permissions_claim: p, personalities: [team]PAGE}}
`
	for page, want := range map[string]bool{"": false, `, page: {client_id: c, url: "https://gate.example.com"}`: true} {
		_, err := Parse("s.yaml", []byte(strings.Replace(text, "PAGE", page, 1)), testOptions())
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "takes a role, and decides nothing") {
			t.Errorf("with the page %q: %v, want that it is accepted: %v", page, err, want)
		}
	}
}
