package reach

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// hostCase is one case of testdata/behaviour.json.
type hostCase struct {
	Area, Name string
	Input      struct {
		Patterns, Declared []string
		PersonalityAllow   []string `json:"personality_allow"`
		Host               string
		Policy             *struct{ Allow, Deny []string }
	}
	Expect struct {
		Match, Allowed *bool
		Resolved       []string
	}
}

func TestBehaviour(t *testing.T) {
	data, err := os.ReadFile("testdata/behaviour.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []hostCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Area+"/"+c.Name, func(t *testing.T) {
			if c.Area == "network_resolve" {
				resolveCase(t, c)
				return
			}
			matchCase(t, c)
		})
	}
}

func resolveCase(t *testing.T, c hostCase) {
	allowed, err := ParseHosts(c.Input.PersonalityAllow)
	if err != nil {
		t.Fatal(err)
	}
	granted, _ := IntersectHosts(mustHosts(t, c.Input.Declared...), allowed)
	if diff := cmp.Diff(c.Expect.Resolved, spell(granted)); diff != "" {
		t.Errorf("granted (-want +got):\n%s", diff)
	}
}

func matchCase(t *testing.T, c hostCase) {
	host, err := CanonicalHost(c.Input.Host)
	if err != nil {
		t.Fatal(err)
	}
	if p := c.Input.Policy; p != nil {
		got := NewHosts(mustHosts(t, p.Allow...)).Match(host, 443) && !NewDenyHosts(mustHosts(t, p.Deny...)).Match(host, 443)
		if got != *c.Expect.Allowed {
			t.Errorf("allowed %s = %t, want %t", host, got, *c.Expect.Allowed)
		}
		return
	}
	if got := NewHosts(mustHosts(t, c.Input.Patterns...)).Match(host, 443); got != *c.Expect.Match {
		t.Errorf("Match(%s) = %t, want %t", host, got, *c.Expect.Match)
	}
}
