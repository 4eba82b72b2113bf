package survey

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/denyfloor"
)

func TestPinsAreTheDirectoriesAboveMasks(t *testing.T) {
	masks := []Mask{{Path: "/ws/a/.git/config"}, {Path: "/ws/a/.git/hooks"}, {Path: "/ws/x"}, {Path: "/ro/b/.ssh"}, {Path: "/ws2/c/.netrc"}}
	want := []string{"/ws/a", "/ws/a/.git", "/ws2/c"}
	if diff := cmp.Diff(want, Pins(masks, []string{"/ws", "/ws2"})); diff != "" {
		t.Errorf("Pins() (-want +got):\n%s", diff)
	}
}

func TestPinsAreAlsoPathsOfTheReachWithinAnother(t *testing.T) {
	masks := []Mask{{Path: "/ws/a/b/.git/config"}}
	want := []string{"/ws/a", "/ws/a/b", "/ws/a/b/.git"}
	if diff := cmp.Diff(want, Pins(masks, []string{"/ws", "/ws/a", "/ws/a/b"})); diff != "" {
		t.Errorf("Pins() (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/a"}, Pins([]Mask{{Path: "/a/.netrc"}}, []string{"/"})); diff != "" {
		t.Errorf("Pins() below the root (-want +got):\n%s", diff)
	}
}

func TestPlantedIsAlsoWhatTookThePlace(t *testing.T) {
	top := plant(t, "ws/.git/config", "ws/.git/hooks/x", "ws/.mcp.json")
	s, floor, ws := New(), denyfloor.New(nil), []string{filepath.Join(top, "ws")}
	before, err := s.Floor(t.Context(), floor, nil, ws)
	must(t, err)
	must(t, os.Rename(filepath.Join(top, "ws/.git"), filepath.Join(top, "ws/old")))
	plantOne(t, top, "ws/.git/config")
	plantOne(t, top, "ws/.git/hooks/x")
	got, err := s.Planted(t.Context(), floor, ws, before)
	must(t, err)
	if diff := cmp.Diff([]string{"fw ws/.git/config", "dw ws/.git/hooks"}, summarizeMasks(top, got)); diff != "" {
		t.Errorf("Planted() (-want +got):\n%s", diff)
	}
}

func TestPlantedIsWhatWasNotThereBefore(t *testing.T) {
	top := plant(t, "ws/.git/config", "ws/.git/hooks/")
	s, floor, ws := New(), denyfloor.New(nil), []string{filepath.Join(top, "ws")}
	before, err := s.Floor(t.Context(), floor, nil, ws)
	must(t, err)
	for _, l := range []string{"ws/new/.git/config", "ws/new/.git/hooks/pre-commit", "ws/.git/commondir", "ws/.vscode -> x", "ws/y"} {
		plantOne(t, top, l)
	}
	got, err := s.Planted(t.Context(), floor, ws, before)
	must(t, err)
	want := []string{"fw ws/.git/commondir", "lw ws/.vscode", "fw ws/new/.git/config", "dw ws/new/.git/hooks"}
	if diff := cmp.Diff(want, summarizeMasks(top, got)); diff != "" {
		t.Errorf("Planted() (-want +got):\n%s", diff)
	}
}
