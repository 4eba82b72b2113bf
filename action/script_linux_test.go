package action_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestB6_AScriptAmongTheArgumentsIsBound rewrites the script of an interpreter:
// the loaded action does not run it, and a new reading is another definition, so
// that no approval of the former is used.
func TestB6_AScriptAmongTheArgumentsIsBound(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash")
	dir := handlers(t, map[string]string{"run.sh": "echo 1", "data.txt": "one"})
	path := filepath.Join(dir, "run.sh")
	text := `{"id": "act", "handler": {"exec": {"command": ["bash", "` + path + `", "` + filepath.Join(dir, "data.txt") + `"]}}}`
	before := scripted(t, dir, text)
	g := newGate(t, before)
	if res := g.use(`{}`); !res.OK {
		t.Fatalf("result = %+v, want a success", res)
	}
	if err := os.WriteFile(filepath.Join(dir, "data.txt"), []byte("two"), 0o600); err != nil {
		t.Fatal(err)
	}
	if res := g.use(`{}`); !res.OK {
		t.Errorf("result after other data = %+v, want a success", res)
	}
	if err := os.WriteFile(path, []byte("echo 2"), 0o700); err != nil {
		t.Fatal(err)
	}
	if res := g.use(`{}`); res.OK || !strings.Contains(res.Error, "changed after the configuration was loaded") {
		t.Errorf("result of the changed script = %+v, want a failure", res)
	}
	if after := scripted(t, dir, text); after.Revision == before.Revision {
		t.Error("the changed script has the revision of the former one")
	}
}
