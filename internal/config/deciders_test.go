package config

import (
	"strings"
	"testing"
)

// TestWhoDecidesTakesNoRole refuses a principal that could approve what it calls.
func TestWhoDecidesTakesNoRole(t *testing.T) {
	t.Parallel()
	const before = "version: 2\npersonalities: {default: {}}\nprincipals:\n  a: {permissions: [\"approvals:decide\"]"
	for rest, good := range map[string]bool{"}": false, ", personalities: [default]}": false, ", personalities: []}": true} {
		_, err := Parse("s.yaml", []byte(before+rest+"\n"), testOptions())
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "write personalities: []") {
			t.Errorf("a%s: error %v, want one: %v", rest, err, !good)
		}
	}
}
