package denyfloor

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test -run ^TestFloorPage$ -update-floor

var updateFloor = flag.Bool("update-floor", false, "rewrite docs/reference/floor.md")

// TestFloorPage holds the page of the floor to the table in code.
func TestFloorPage(t *testing.T) {
	const path = "../../docs/reference/floor.md"
	want := floorPage()
	if *updateFloor {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the table says (%v); run go generate ./internal/denyfloor", path, err)
	}
}

func floorPage() string {
	var b strings.Builder
	b.WriteString(`# The deny floor

Generated from the tables in ` + "`internal/denyfloor`" + `; do not edit. No grant reaches these paths. ` + "`~/`" + ` is the home of any user,
` + "`**/`" + ` any depth, ` + "`<git>/`" + ` any directory that git takes for that of a repository: one named ` + "`.git`" + `, those of submodules and worktrees,
bare ones. A regular file ` + "`.git`" + ` is closed for writing by tools, and by children where it exists. Names are compared without regard to case.

| class | who may change it |
| --- | --- |
| repository | neither tools nor children, in an overlay neither; a repository that a child makes is its own, and its hooks and configuration are left out of a commit |
| project | neither tools nor children; what a child changes of it in an overlay waits for a person, who sees the difference with ` + "`sallyport pending`" + `. No row counts below ` + "`node_modules`" + ` |
| absolute | neither tools nor children |

For children this holds where the file exists. In direct mode, a child that may write a folder can create a missing file of the classes project and absolute in it, and the gate reports that
([guarantees](../guarantees.md)).

No rows are the files that people and agents edit and that an install or a build writes: ` + "`package.json`, `go.mod`, `Cargo.toml`, `pyproject.toml`, `Makefile`" + `, lock
files, ` + "`.pnp.cjs`, `.bundle/config`" + `. Nor are those of services that run elsewhere after a push.
`)
	for _, class := range []Class{Repository, Project, Absolute} {
		fmt.Fprintf(&b, "\n## %s\n\n| path | closed for | what it is | source |\n| --- | --- | --- | --- |\n", class)
		for _, r := range Rules() {
			if r.Class != class {
				continue
			}
			closed := "reading, writing"
			if r.WriteOnly {
				closed = "writing"
			}
			if r.Tools {
				closed = "writing by tools"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Path, closed, r.Reason, r.Source)
		}
	}
	return b.String()
}
