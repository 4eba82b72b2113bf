package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestB6_AnApprovedStatementRunsOnTheShownDatabaseOnly approves a statement on
// one file, then points the name at another file.
func TestB6_AnApprovedStatementRunsOnTheShownDatabaseOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.db", "b.db"} {
		script := "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); c.execute('CREATE TABLE t(n)'); c.commit()"
		if out, err := exec.Command("python3", "-c", script, filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	point := func(file string) {
		text := `version: 1
state: sqlite:.sallyport/state.db
security: {default_permissions: ["database:write"]}
databases: {main: {driver: sqlite, path: ` + file + `, mode: write}}
personalities:
  writer: {toolset: [db-write], approvals: {require: [db-write], wait: 0s}}
`
		if err := os.WriteFile(filepath.Join(dir, app.ConfigName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	insert := func() (int, string) {
		env, out := inFolder(t, dir)
		code := runCommand(t.Context(), []string{"call", "db-write", `{"query":"INSERT INTO t VALUES(1)"}`}, env)
		return code, out.String()
	}
	point("a.db")
	_, out := insert()
	id := regexp.MustCompile(`\((\w{24})\)`).FindStringSubmatch(out)
	if id == nil {
		t.Fatalf("the call answered %q, want it held", out)
	}
	env, list := inFolder(t, dir)
	if code := runCommand(t.Context(), []string{"approvals", "ls"}, env); code != exitDone || !strings.Contains(list.String(), "uses: main: sqlite "+filepath.Join(dir, "a.db")) {
		t.Errorf("approvals ls = %d %s, want the file that is used", code, list)
	}
	env, _ = inFolder(t, dir)
	if code := runCommand(t.Context(), []string{"approvals", "approve", id[1]}, env); code != exitDone {
		t.Fatalf("approvals approve = %d", code)
	}
	point("b.db")
	if code, out := insert(); code != exitFailed || !strings.Contains(out, "requires explicit approval") || strings.Contains(out, id[1]) {
		t.Errorf("the call on another file = %d %q, want it held anew", code, out)
	}
	point("a.db")
	if code, out := insert(); code != exitDone {
		t.Errorf("the call on the shown file = %d %q, want it done", code, out)
	}
}
