package program_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

// dialingTool returns a tool that dials b.example and declares hosts.
func dialingTool(hosts ...string) sallyport.Tool {
	return sallyport.Tool{
		Name: "own_tool", Description: "Dials.", Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: hosts}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			_, err := c.Network.DialContext(ctx, "tcp", "b.example:443")
			return sallyport.Result{}, err
		},
	}
}

// runIn runs the program with the tools of a case in a folder.
func runIn(t *testing.T, dir, name string, args ...string) (said string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), ownTools+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// TestTheAdviceOnAHostOfTheCodeLiftsTheRefusal: a grant alone changes nothing where the code
// declares other hosts, so that the advice of call, explain and grant begins with the code.
func TestTheAdviceOnAHostOfTheCodeLiftsTheRefusal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, allow string
		grants      bool
	}{{"the role lacks it", "a.example", true}, {"the role has it", "a.example, b.example", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := "version: 1\nstate: memory\npersonalities: {default: {toolset: [own_tool], safety: {network: {allow: [" + tt.allow + "]}}}}\n"
			if err := os.WriteFile(filepath.Join(dir, "sallyport.yaml"), []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			const declare = "declare b.example in the tool's capabilities.network"
			for _, args := range [][]string{{"call", "own_tool"}, {"explain", "own_tool", "--host", "b.example"}, {"grant", "own_tool", "--host", "b.example", "--yes"}} {
				said, ok := runIn(t, dir, "other hosts", args...)
				declares := strings.Contains(said, declare) || strings.Contains(said, "does not declare b.example: declare it in the tool's capabilities.network")
				grants := strings.Contains(said, ", and then run ") && strings.Contains(said, " grant default --host b.example")
				if ok || !declares || grants != tt.grants || strings.Contains(said, "run: ") || strings.Contains(said, "or declare") {
					t.Errorf("%v = %v and\n%s\nwant the declaration first, and the grant: %v", args, ok, said, tt.grants)
				}
			}
			if said, ok := runIn(t, dir, "both hosts", "explain", "own_tool", "--host", "b.example"); ok == tt.grants {
				t.Errorf("with the declaration alone explain = %v and\n%s\nwant %v", ok, said, !tt.grants)
			}
			if !tt.grants {
				return
			}
			if said, ok := runIn(t, dir, "both hosts", "grant", "default", "--host", "b.example", "--yes"); !ok {
				t.Fatalf("grant fails:\n%s", said)
			}
			if said, ok := runIn(t, dir, "both hosts", "explain", "own_tool", "--host", "b.example"); !ok {
				t.Errorf("with declaration and grant explain refuses:\n%s", said)
			}
		})
	}
}
