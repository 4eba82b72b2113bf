package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/lock"
)

// TestACommandKnowsTheLabelsOfPinnedPlugins: a command that loads no plugin takes the rule for
// their tools where the lock file has the tool, and no rule for a tool that is not there.
func TestACommandKnowsTheLabelsOfPinnedPlugins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, ConfigName)
	if err := os.WriteFile(path, []byte(`version: 2
plugins: {csv: {path: csv.wasm}}
personalities:
  team:
    approvals:
      approvers:
        by: [page:ann]
        tools:
          "@plugin": {by: [local]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load([]string{path}, &config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pinned := func(server string, transport lock.Transport, tool string) lock.Server {
		definition := `{"name":"` + tool + `"}`
		return lock.Server{Launch: lock.Launch{Transport: transport}, Tools: map[string]lock.Pin{
			tool: {Name: "mcp__" + server + "__" + tool, Definition: []byte(definition), SHA256: digest.Text(definition)},
		}}
	}
	open := func(file *lock.File) *Runtime {
		t.Helper()
		if file != nil {
			if err := file.Save(filepath.Join(dir, LockName)); err != nil {
				t.Fatal(err)
			}
		}
		rt := &Runtime{}
		rt.deployment.Store(&Deployment{Config: c})
		return rt
	}
	may := func(rt *Runtime, tool string) bool {
		rules := rt.approversOf(&sallyport.Approval{Personality: "team", Tool: tool})
		return rules.MayAlone("local")
	}
	if rt := open(nil); may(rt, "rows") {
		t.Error("without a lock file the rule for plugins decides about a tool")
	}
	rt := open(&lock.File{Servers: map[string]lock.Server{
		"csv": pinned("csv", lock.TransportModule, "rows"), "old": pinned("old", lock.TransportModule, "gone"), "notes": pinned("notes", lock.TransportStdio, "add"),
	}})
	for tool, want := range map[string]bool{"rows": true, "gone": false, "add": false, "pay": false} {
		if may(rt, tool) != want {
			t.Errorf("%s: the rule for plugins decides: %v, want %v", tool, !want, want)
		}
	}
}
