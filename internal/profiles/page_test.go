package profiles

import (
	"flag"
	"os"
	"testing"
)

//go:generate go test -run ^TestPage$ -update-profiles

var updatePage = flag.Bool("update-profiles", false, "rewrite the page of profiles")

const page = "../../docs/reference/profiles.md"

// TestPage compares the generated part of the page with the profiles, and
// leaves the part that `make profiles` writes.
func TestPage(t *testing.T) {
	have, err := os.ReadFile(page)
	if err != nil && !(*updatePage && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	want := WritePage(ParseResults(string(have)))
	if *updatePage {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(have) {
		t.Error("docs/reference/profiles.md differs from the profiles: run make generate")
	}
}
