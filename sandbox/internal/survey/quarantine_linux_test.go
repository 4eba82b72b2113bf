package survey

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/scoped"
)

func TestQuarantineRenamesWhatARepositoryGot(t *testing.T) {
	top := plant(t, "ws/.git/config", "ws/.git/HEAD", "ws/real/config", "ws/linked/.git -> ../real", "ws/.gitmodules")
	s, floor, ws := New(nil), scoped.Floor(nil), []string{filepath.Join(top, "ws")}
	before, err := s.Floor(t.Context(), floor, nil, ws)
	must(t, err)
	for _, l := range []string{
		"ws/.git/commondir", "ws/.git/hooks -> TOP", "ws/real/hooks/x", "ws/own/.git/config", "ws/.vscode/x", "ws/.hg/hgrc",
		"ws/wt/.git",
	} {
		plantOne(t, top, l)
	}
	planted, err := s.Planted(t.Context(), floor, ws, before)
	must(t, err)
	got, err := Quarantine(planted, before)
	must(t, err)
	want := under(top, []string{"ws/.git/commondir", "ws/.git/hooks", "ws/real/hooks"})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Quarantine() (-want +got):\n%s", diff)
	}
	for _, path := range want {
		_, err := os.Lstat(path)
		if kept, _ := filepath.Glob(path + Quarantined + "*"); err == nil || len(kept) != 1 {
			t.Errorf("%s: %v, kept as %v", path, err, kept)
		}
	}
	left, err := s.Planted(t.Context(), floor, ws, before)
	must(t, err)
	if diff := cmp.Diff([]string{"dw ws/.vscode", "fw ws/.hg/hgrc", "fw ws/own/.git/config", "fw ws/wt/.git"}, sorted(brief(top, left))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func TestQuarantineLeavesWhatWasExchanged(t *testing.T) {
	top := plant(t, "ws/.git/config")
	s, floor, ws := New(nil), scoped.Floor(nil), []string{filepath.Join(top, "ws")}
	before, err := s.Floor(t.Context(), floor, nil, ws)
	must(t, err)
	plantOne(t, top, "ws/.git/commondir")
	planted, err := s.Planted(t.Context(), floor, ws, before)
	must(t, err)
	plantOne(t, top, "ws/new")
	must(t, os.Rename(filepath.Join(top, "ws/new"), filepath.Join(top, "ws/.git/commondir")))
	if moved, err := Quarantine(planted, before); err == nil || len(moved) != 0 {
		t.Errorf("Quarantine() = %v, %v", moved, err)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
