package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheRoleOfAMadeUpSuite(t *testing.T) {
	role, err := generateRole("office", officeWorld(t))
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "office", "role.yaml")
	if *update {
		if err := os.WriteFile(golden, []byte(role), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readTestdata(t, "role.yaml"), role); diff != "" {
		t.Errorf("the role (-want +got):\n%s", diff)
	}
}

func TestARoleWithoutSetsForADestinationIsRefused(t *testing.T) {
	w := officeWorld(t)
	for _, tt := range []struct{ property, kind, want string }{
		{"url", "planet", "kind planet"},
		{"nowhere", "url", "no nowhere"},
	} {
		w.effects["get_page"] = toolEffects{[]string{"read"}, map[string]string{tt.property: tt.kind}}
		if _, err := generateRole("office", w); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("generateRole with %s: %s = %v, want an error with %q", tt.property, tt.kind, err, tt.want)
		}
	}
}

// A role depends on names only as far as it repeats them: another world in which
// people, accounts, hosts and files have other names gives the same role with these.
func TestRolesFollowRenamedWorlds(t *testing.T) {
	renamed := strings.NewReplacer("Ann Lee", "Zoe Fox", "Ann", "Zoe", "Bert", "Kurt", "GB29NWBK60161331926819", "FR7630006000011234567890189",
		"minutes.example", "wiki.test", "plan-2031", "draft-77", "other@office", "desk@office")
	lines := func(edit func(string) string) []string {
		worlds, err := readWorlds(packOffice(t, edit))
		if err != nil {
			t.Fatal(err)
		}
		role, err := generateRole("office", worlds["office"])
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(role, "\n")
	}
	want, got := lines(nil), lines(renamed.Replace)
	for i := range want {
		want[i] = renamed.Replace(want[i])
	}
	slices.Sort(want) // members stand in the order of their names
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the role of the renamed world (-want +got):\n%s", diff)
	}
}

// Two commands print the role: what only the benchmark knows is not read for it.
func TestRolesReadNoTaskAndNoRecording(t *testing.T) {
	print := func(dir string) string {
		var out strings.Builder
		if err := run(t.Context(), []string{"roles", "-data", dir}, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	dir := packOffice(t, nil)
	want := print(dir)
	if !strings.Contains(want, "# office, SHA-256 "+digestOf(readTestdata(t, "role.yaml"))) {
		t.Errorf("roles printed\n%s\nwant the digest of the role", want)
	}
	if err := os.Remove(filepath.Join(dir, runsName)); err != nil {
		t.Fatal(err)
	}
	suite := `{"office": {"tools": ` + readTestdata(t, "tools.json") + `, "environment": ` + quoteText(readTestdata(t, "environment.yaml")) +
		`, "user_tasks": {"user_task_0": {"prompt": "other@else.example"}}, "injection_tasks": 7}}`
	writePacked(t, filepath.Join(dir, suitesName), suite)
	if got := print(dir); got != want {
		t.Errorf("without tasks and recordings roles printed\n%s\nwant\n%s", got, want)
	}
}
