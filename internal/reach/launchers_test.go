package reach

import (
	"slices"
	"strings"
	"testing"
)

func TestLaunchersAreSorted(t *testing.T) {
	if !slices.IsSortedFunc(launchers[:], func(a, b launcherRule) int { return strings.Compare(a.name, b.name) }) {
		t.Error("launchers is not sorted, which the search in it needs")
	}
}

func TestLauncher(t *testing.T) {
	for _, l := range launchers {
		for _, binary := range []string{l.name, "/usr/bin/" + l.name} {
			if got := RefuseLauncher(binary); got != l.why {
				t.Errorf("Launcher(%q) = %q, want %q", binary, got, l.why)
			}
			if _, err := ParseBinary(binary); err == nil || !strings.Contains(err.Error(), l.why) {
				t.Errorf("ParseBinary(%q) = %v, want an error that says %q", binary, err, l.why)
			}
			if MatchBinary([]string{"*", binary}, binary) {
				t.Errorf("MatchBinary of %q = true, want false whatever the list says", binary)
			}
		}
	}
	// The last ones are contained instead: they change the process alone.
	for _, binary := range []string{"git", "sudoku", "atop", "", "*", "/usr/bin/mountpoint", "unshare", "setpriv"} {
		if got := RefuseLauncher(binary); got != "" {
			t.Errorf("Launcher(%q) = %q, want none", binary, got)
		}
	}
	granted, dropped := IntersectNames([]string{"git", "sudo"}, []string{"*"})
	if !slices.Equal(granted, []string{"git"}) || !slices.Equal(dropped, []string{"sudo"}) {
		t.Errorf("IntersectNames = %q, %q, want sudo dropped", granted, dropped)
	}
}
