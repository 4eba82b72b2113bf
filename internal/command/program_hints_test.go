package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// TestHintsNameTheProgramThatRuns: a program with tools of its own, or one that no name finds.
func TestHintsNameTheProgramThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mcp.json"), []byte(`{"mcpServers": {"notes": {"command": "no-such-program"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"init"}, "next: ./custom-tool check, then ./custom-tool serve"},
		{[]string{"grant", "default", "--host", "api.example.com"}, "To make this change: ./custom-tool grant default --host api.example.com --yes"},
		{[]string{"grant", "role:default", "--host", "10.0.0.1:80"}, "./custom-tool grant role:default --private 10.0.0.1:80"},
		{[]string{"import", "./mcp.json"}, "next: ./custom-tool import ./mcp.json --yes"},
	} {
		env, out := inFolder(t, dir)
		var said bytes.Buffer
		env.Stderr, env.Program = &said, "./custom-tool"
		runCommand(t.Context(), c.args, env)
		all := out.String() + said.String()
		if !strings.Contains(all, c.want) || strings.Contains(all, ": sallyport ") {
			t.Errorf("%s says %q, want %q", strings.Join(c.args, " "), all, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, app.ConfigName)); err != nil {
		t.Error(err)
	}
}
