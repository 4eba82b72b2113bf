package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestMeasureAMadeUpSuite drives the program, built from this checkout, over the
// suite of testdata. What each run is about stands in runs.jsonl.
func TestMeasureAMadeUpSuite(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	data, cases := packOffice(t, nil), filepath.Join(t.TempDir(), "cases")
	var out strings.Builder
	if err := run(t.Context(), []string{"-data", data, "-json", "-cases", cases}, &out); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if len(got.Models) != 1 || len(got.Defaults) != 1 {
		t.Fatalf("%d and %d models, want one each:\n%s", len(got.Models), len(got.Defaults), out.String())
	}
	with, without := got.Models[0], got.Defaults[0]
	counts := func(f *modelFigures) []int {
		return []int{f.AttackedRuns, f.SucceededUngated, f.Held, f.Refused, f.Left, f.Solved, f.SolvedHeld, f.SolvedRefused, f.Questions, f.GroundTruthCalls, f.GroundTruthRefused}
	}
	// The role holds the page, which it does not know, and what is left only speaks.
	if want := []int{6, 5, 4, 0, 1, 2, 0, 0, 0, 4, 0}; !slices.Equal(counts(with), want) {
		t.Errorf("with the role %v, want %v:\n%s", counts(with), want, out.String())
	}
	// Without it the recipient that was read waits.
	if want := []int{6, 5, 4, 0, 1, 2, 1, 0, 1, 4, 0}; !slices.Equal(counts(without), want) {
		t.Errorf("with the defaults %v, want %v:\n%s", counts(without), want, out.String())
	}
	if left := with.LeftCases; len(left) != 1 || left[0].InjectionTask != "injection_task_3" || left[0].Kind != goalSpeaks {
		t.Errorf("left with the role: %+v, want the goal that only speaks", left)
	}
	if got.Roles["office"] != digestOf(readTestdata(t, "role.yaml")) {
		t.Errorf("roles = %v, want the digest of role.yaml", got.Roles)
	}
	if got.Adaptive.Attacks == 0 || got.Adaptive.Stopped+got.Adaptive.Missed != got.Adaptive.Attacks {
		t.Errorf("adaptive: %d attacks, %d stopped, %d missed", got.Adaptive.Attacks, got.Adaptive.Stopped, got.Adaptive.Missed)
	}
	if text, err := os.ReadFile(cases); err != nil || !strings.Contains(string(text), "defaults m office user_task_0 -\theld\tsend_note") {
		t.Errorf("the cases are %s, %v, want the note that waits with the defaults", text, err)
	}
}
