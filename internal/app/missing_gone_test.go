package app

import (
	"strings"
	"testing"
)

func TestATemplateThatCannotBeReadCoversNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		template, uri string
		want          bool
	}{
		{"notes:///day/{n}", "notes:///day/3", true},
		{"notes:///day/{n}", "notes:///week/3", false},
		{"notes:///day/{n", "notes:///day/3", false},
		{"{+a,b,c,d,e,f,g,h*}", "a:" + strings.Repeat("x", 1<<20), false},
	} {
		if got := coversURI(tt.template, tt.uri); got != tt.want {
			t.Errorf("coversURI(%q, %.40q) = %v, want %v", tt.template, tt.uri, got, tt.want)
		}
	}
}
