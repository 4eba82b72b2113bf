package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGrantSaysWhereAPathLeads refuses what the deny floor closes, and names what a link
// leads to.
func TestGrantSaysWhereAPathLeads(t *testing.T) {
	t.Parallel()
	dir, _ := filepath.EvalSymlinks(configured(t, "version: 2\nworkspace: .\nstate: memory\npersonalities: {w: {toolset: [read_file], fs_reach: {read: []}}}\n"))
	for _, name := range []string{"home/.ssh", "far"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("far", filepath.Join(dir, "lnk")); err != nil {
		t.Fatal(err)
	}
	out, err := sallyportCommand(dir, "grant", "w", "--read", "home/.ssh", "--yes").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "it is on the deny floor (") {
		t.Errorf("grant of a path on the floor = %v\n%s", err, out)
	}
	out, err = sallyportCommand(dir, "grant", "w", "--read", "lnk", "--yes").CombinedOutput()
	if want := "--read " + filepath.Join(dir, "lnk") + " leads to " + filepath.Join(dir, "far"); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("grant of a link = %v\n%s\nwant %s", err, out, want)
	}
}

// TestWithoutAConfigurationARefusalNamesInit: there is no file whose line could be
// changed.
func TestWithoutAConfigurationARefusalNamesInit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	out, err := sallyportCommand(dir, "call", "fetch_url", `{"url":"https://example.org/"}`).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "init writes sallyport.yaml, which is not there yet; then ") || strings.Contains(string(out), "sallyport.yaml:") {
		t.Errorf("a refused call = %v\n%s", err, out)
	}
}
