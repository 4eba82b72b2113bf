package plugin_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/plugin"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// loadC compiles the example as it says, and loads it.
func loadC(t testing.TB) *plugin.Plugin {
	t.Helper()
	needs.Programs(t, "wasm-ld")
	path := filepath.Join(t.TempDir(), "count.wasm")
	build := exec.CommandContext(t.Context(), needs.Program(t, "clang"), "--target=wasm32", "-O2", "-nostdlib", "-Wl,--no-entry", "-Wl,--strip-all", "-o", path, "../../examples/plugin-c/count.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	module, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plugin.Load(t.Context(), "counts", module, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// TestTheExampleInC runs the example with and without the file that it reads.
func TestTheExampleInC(t *testing.T) {
	t.Parallel()
	p := loadC(t)
	reads := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}
	c := scopedtest.NewCall(t, &scopedtest.Options{Capabilities: reads, Files: map[string]string{"notes.txt": "a\nb\nc\n"}})
	c.SessionKey = "s"
	res, err := p.Run("count_lines")(t.Context(), c)
	if n, ok := res.Structured["lines"].(float64); err != nil || !res.OK || !ok || n != 3 {
		t.Errorf("the example answers %+v, %v, want 3 lines", res, err)
	}
	c = scopedtest.NewCall(t, &scopedtest.Options{Capabilities: reads})
	if res, err := p.Run("count_lines")(t.Context(), c); err != nil || res.OK || res.Error != "notes.txt cannot be read" {
		t.Errorf("without the file the example answers %+v, %v", res, err)
	}
}
