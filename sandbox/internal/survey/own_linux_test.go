package survey

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
)

func TestFloorNamesAbsentOwnPaths(t *testing.T) {
	top := plant(t, "ws/there", "ws/real/", "ws/lnk -> real")
	deny := append(joinAll(top, []string{"ws/there", "ws/lock", "ws/lnk/state", "out/lock"}), filepath.Join(top, "ws/skills")+"/")
	floor := denyfloor.New(&sallyport.FileBackend{Home: filepath.Join(top, "home"), Deny: deny})
	masks, err := New().Floor(t.Context(), floor, joinAll(top, []string{"out"}), joinAll(top, []string{"ws"}))
	must(t, err)
	folders := map[string]bool{}
	for _, m := range masks {
		if m.Missing {
			rel, err := filepath.Rel(top, m.Path)
			must(t, err)
			folders[rel] = m.Dir
		}
	}
	want := map[string]bool{"ws/lock": false, "ws/real/state": false, "ws/skills": true}
	if d := cmp.Diff(want, folders); d != "" {
		t.Errorf("absent own paths (-want +got):\n%s", d)
	}
}
