package profiles

import (
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/internal/effect"
)

// TestEffectsAreOfOnePackage asks for what the tools of each program of a profile do.
func TestEffectsAreOfOnePackage(t *testing.T) {
	t.Parallel()
	known := map[string]definition.ToolEffects{"send": {Does: []sallyport.Effect{effect.Outward}}}
	both := &Profile{Match: Match{NPM: []string{"new", "old"}, PyPI: []string{"new", "py"}}, Effects: known}
	python := &Profile{Match: Match{PyPI: []string{"py"}}, Effects: known}
	instead := &Profile{Match: Match{NPM: []string{"old"}}, Instead: &Launch{NPM: "new"}, Effects: known}
	for _, tt := range []struct {
		name string
		got  map[string]definition.ToolEffects
		want bool
	}{
		{"the first package", both.EffectsOf(NPM, "new"), true},
		{"another package", both.EffectsOf(NPM, "old"), false},
		{"a package of its name at another registry", both.EffectsOf(PyPI, "new"), false},
		{"a package at a registry that is not known", both.EffectsOf("other", "new"), false},
		{"a package without a name", python.EffectsOf(NPM, ""), false},
		{"a package of PyPI", python.EffectsOf(PyPI, "py"), true},
		{"the package in the place of the first", instead.EffectsOf(NPM, "new"), true},
		{"the package that was replaced", instead.EffectsOf(NPM, "old"), false},
	} {
		if (tt.got != nil) != tt.want {
			t.Errorf("%s: %v, want effects: %v", tt.name, tt.got, tt.want)
		}
	}
}
