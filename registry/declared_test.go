package registry_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestWhatTheOperatorDeclaredStands computes the grants of a server's tool, of an
// action, of a plugin's tool and of a tool of the program under a role whose file has version 2.
func TestWhatTheOperatorDeclaredStands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	server, action := sallyport.Tool{Name: "mcp__notes__add"}, sallyport.Tool{Name: "act", Toolset: "action", Sources: map[string]string{}}
	plugged := sallyport.Tool{Name: "act", Toolset: "plugin", Plugin: "csv", Sources: map[string]string{}}
	stands := fmt.Sprintf("read [%s] write [%s] hosts [a.example] secrets [a/b] binaries [git]", in, out)
	const noFiles = "read [] write [] hosts [a.example] secrets [a/b] binaries [git]"
	explicit := sallyport.Capabilities{
		FSReach: &sallyport.FSCapability{Read: sallyport.Paths(in), Write: sallyport.Paths(out)},
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"a.example"}}, Secrets: []string{"a/b"},
		Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"git"}},
	}
	deferred := sallyport.Capabilities{
		FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality()},
		Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}, Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"*", "git"}},
	}
	for _, tt := range []struct {
		name     string
		tool     sallyport.Tool
		declared sallyport.Capabilities
		role     sallyport.Personality
		want     string
	}{
		{"a listed server", server, explicit, sallyport.Personality{MCPServers: []string{"notes"}}, stands},
		{"an action listed by name", action, explicit, sallyport.Personality{Toolset: []string{"act"}}, stands},
		{"an action listed by label", action, explicit, sallyport.Personality{Toolset: []string{"@action"}}, stands},
		{"an action under a role without a toolset", action, explicit, sallyport.Personality{}, noFiles},
		{"a tool of the program", sallyport.Tool{Name: "act", Toolset: "action"}, explicit, sallyport.Personality{Toolset: []string{"act"}}, noFiles},
		{"a tool of a plugin", plugged, explicit, sallyport.Personality{Plugins: []string{"csv"}, Toolset: []string{"@plugin", "act"}}, noFiles},
		{
			"a tool of a plugin with a list", plugged, explicit,
			sallyport.Personality{Plugins: []string{"csv"}, Toolset: []string{"act"}, FSReach: &sallyport.Reach{Read: []string{dir}}},
			strings.Replace(noFiles, "read []", "read ["+in+"]", 1),
		},
		{"another server", server, explicit, sallyport.Personality{MCPServers: []string{"other"}}, noFiles},
		{"only a mode", server, explicit, sallyport.Personality{MCPServers: []string{"notes"}, FSReach: &sallyport.Reach{Mode: sallyport.FSOverlay}}, stands},
		{"an empty list for reading", server, explicit, sallyport.Personality{MCPServers: []string{"notes"}, FSReach: &sallyport.Reach{Read: []string{}}}, noFiles},
		{"an empty list for writing", server, explicit, sallyport.Personality{MCPServers: []string{"notes"}, FSReach: &sallyport.Reach{Write: []string{}}}, noFiles},
		{
			"a list for reading", server, explicit,
			sallyport.Personality{MCPServers: []string{"notes"}, FSReach: &sallyport.Reach{Read: []string{dir}}},
			strings.Replace(noFiles, "read []", "read ["+in+"]", 1),
		},
		{
			"empty lists", server, explicit, sallyport.Personality{
				MCPServers: []string{"notes"}, FSReach: &sallyport.Reach{Read: []string{}, Write: []string{}},
				Network: &sallyport.NetworkPolicy{Allow: []string{}}, Secrets: []string{}, Process: []string{},
			}, "read [] write [] hosts [] secrets [] binaries []",
		},
		{"what is left to the role", server, deferred, sallyport.Personality{MCPServers: []string{"notes"}}, "read [] write [] hosts [] secrets [] binaries [git]"},
		{"any binary of the program", sallyport.Tool{Name: "act"}, deferred, sallyport.Personality{Toolset: []string{"act"}}, "read [] write [] hosts [] secrets [] binaries [* git]"},
		{"any binary with a list", server, deferred, sallyport.Personality{MCPServers: []string{"notes"}, Process: []string{"ls"}}, "read [] write [] hosts [] secrets [] binaries [ls]"},
	} {
		r, err := registry.New(nil, &registry.Options{Workspace: dir})
		if err != nil {
			t.Fatal(err)
		}
		tt.tool.Capabilities, tt.role.Name, tt.role.DeclarationsStand = tt.declared, "role", true
		describe := func() string {
			g, err := r.GrantUnder(&tt.tool, &tt.role)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("read %v write %v hosts %v secrets %v binaries %v", g.FS.Read, g.FS.Write, g.Network.Allow, g.Secrets, g.Process.Binaries)
		}
		if got := describe(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if tt.role.DeclarationsStand = false; tt.want == stands && describe() != noFiles {
			t.Errorf("%s under version 1: %s, want %s", tt.name, describe(), noFiles)
		}
	}
}
