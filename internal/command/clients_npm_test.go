package command

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The agent library that this test was written with, and what it needs.
var agentPackages = []string{"ai@7.0.173", "@ai-sdk/mcp@2.0.99", "zod@4.1.8"}

// TestAgentOfNPM runs a published agent library with a scripted model. The
// agent asks for a file that it may read and for one that it may not read, over
// stdio and over HTTP. Both answers must reach the model, and both calls the
// record.
func TestAgentOfNPM(t *testing.T) {
	t.Parallel()
	needNPX(t)
	store := t.TempDir()
	install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--ignore-scripts", "--no-audit", "--no-fund"}, agentPackages...)...)
	install.Dir = store
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	script, err := filepath.Abs("testdata/agent.mjs")
	if err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	ask := func(t *testing.T, before int, server ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "npx", append([]string{"-y", "-p", nodePackage, "node", script, store}, server...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("the agent ended with %v:\n%s", err, out)
		}
		for _, want := range []string{"Hello, gate", "PATH_NOT_REACHABLE: read not permitted for /etc/passwd"} {
			if strings.Count(string(out), want) != 1 {
				t.Errorf("the model was told\n%s\nwant %q in it once", out, want)
			}
		}
		made := outcomes(t, dir)[before:]
		if len(made) != 2 || !made[0].OK || made[1].OK {
			t.Errorf("the record holds %+v, want one call and one refusal", made)
		}
	}
	t.Run("stdio", func(t *testing.T) { ask(t, 0, "stdio", "sallyport", "serve", "--stdio") })
	s := serveHTTP(t, dir)
	t.Run("http", func(t *testing.T) { ask(t, 2, "http", s.url+"/mcp", s.token) })
	s.stop(t)
}
