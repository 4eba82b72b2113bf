package survey

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

func TestWhatIsTooDeepIsMasked(t *testing.T) {
	top := plant(t, "ws/1/2/3/4/5/.netrc", "ws/1/2/.ssh/x", "ws/1/2/3/.netrc")
	s := New()
	s.limit.depth = 3
	got, err := s.Floor(t.Context(), denyfloor.New(nil), nil, joinAll(top, []string{"ws"}))
	must(t, err)
	if diff := cmp.Diff([]string{"d ws/1/2/.ssh", "f ws/1/2/3/.netrc", "d ws/1/2/3/4"}, summarizeMasks(top, got)); diff != "" {
		t.Errorf("Floor() (-want +got):\n%s", diff)
	}
	_, err = s.Floor(t.Context(), denyfloor.New(nil), joinAll(top, []string{"ws/1/2/3/4/5"}), joinAll(top, []string{"ws"}))
	if err == nil || !strings.Contains(err.Error(), "ws/1/2/3/4 is a directory too deep") {
		t.Errorf("a part of the reach below: Floor() = %v", err)
	}
}

// TestA12_WhatIsTooMuchIsWithheld: the fullest folder goes, the rest stays, and
// in it what was there first.
func TestA12_WhatIsTooMuchIsWithheld(t *testing.T) {
	top := plant(t, "ws/first/.git/config", "ws/src/a/", "ws/flood/old/a/", "ws/flood/old/.mcp.json")
	for i := range 60 {
		plantOne(t, top, fmt.Sprintf("ws/flood/d%02d/.netrc", i))
		plantOne(t, top, fmt.Sprintf("ws/flood/l%02d/.git -> TOP/ws/flood/d%02d", i, i))
	}
	ws := []string{filepath.Join(top, "ws")}
	for _, tt := range []struct {
		name  string
		limit surveyBounds
	}{
		{"directories", surveyBounds{60, 99, 999, 999}},
		{"masks", surveyBounds{999, 99, 30, 999}},
		{"aliases", surveyBounds{999, 99, 999, 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := New()
			s.limit = tt.limit
			masks, err := s.Floor(t.Context(), denyfloor.New(nil), nil, ws)
			must(t, err)
			var flood *Mask
			config := false
			for i, m := range masks {
				config = config || m.Path == top+"/ws/first/.git/config"
				if m.Withheld() {
					flood = &masks[i]
				}
			}
			if flood == nil || flood.Path != top+"/ws/flood" || !config {
				t.Fatalf("Floor() = %v, want flood withheld and the repository beside it masked", summarizeMasks(top, masks))
			}
			if len(flood.But) == 0 || flood.But[0].Path != top+"/ws/flood/old" {
				t.Errorf("shown of it is %v, want the oldest first", flood.But)
			}
			if flood.Covers(top+"/ws/flood/old/a") || !flood.Covers(top+"/ws/flood/l59") {
				t.Errorf("%d entries are shown, of which one should not be", len(flood.But))
			}
			planted, err := s.Planted(t.Context(), denyfloor.New(nil), ws, nil)
			if err != nil || len(planted) == 0 {
				t.Errorf("Planted() = %v, %v", summarizeMasks(top, planted), err)
			}
		})
	}
}

func TestASurveyEndsWithItsContext(t *testing.T) {
	top := plant(t, "ws/")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New().Floor(ctx, denyfloor.New(nil), []string{top}, nil); err != context.Canceled {
		t.Errorf("with a dead context: Floor() = %v", err)
	}
}
