package reach

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckPrefixes(t *testing.T) {
	for _, good := range [][]string{nil, {"Bearer "}, {"key="}, {"sso-key id:"}, slices.Repeat([]string{strings.Repeat("a", 64)}, 8)} {
		if err := CheckPrefixes(good); err != nil {
			t.Errorf("CheckPrefixes(%q) = %v", good, err)
		}
	}
	for _, bad := range [][]string{{""}, {"%4"}, {`\u004`}, {"&#"}, {"a,"}, {"é"}, {"a\x00"}, {strings.Repeat("a", 65)}, slices.Repeat([]string{"a"}, 9)} {
		if CheckPrefixes(bad) == nil {
			t.Errorf("CheckPrefixes(%q) = nil", bad)
		}
	}
}
