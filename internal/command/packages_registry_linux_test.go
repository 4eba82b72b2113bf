package command

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// registryHere starts a registry on this machine and returns its URL.
func registryHere(t *testing.T) (n *npmStandIn, at string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	n = newNPMStandInAt(t, server.Listener.Addr().String(), "1.2.3")
	server.Config.Handler = n
	server.Start()
	t.Cleanup(server.Close)
	return n, server.URL + "/"
}

// TestAnotherRegistry installs from the registry of the configuration and from
// no other. It uses a private address only where the configuration allows that,
// and pins the registry.
func TestAnotherRegistry(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	n, at := registryHere(t)
	other, elsewhere := registryHere(t)
	p := packageFolderOver(t, "", nil)
	p.network = nil // as in the program
	from := func(command, packages string) {
		t.Helper()
		p.declare(command)
		place(t, p.dir, app.ConfigName, configText(t, p.dir)+"packages: "+packages+"\n")
	}
	echo := []string{"call", "mcp__notes__echo", "{}"}

	from("[npx, notes-server]", `{npm: "`+at+`"}`)
	p.says(1, "the registry was asked for the newest: ", "lock")
	if n.asked.Load() != 0 {
		t.Error("a private address was asked that is not allowed")
	}
	from("[npx, notes-server]", `{npm: "`+at+`", allow_private: true}`)
	p.says(1, "write notes-server@1.2.3, which is the newest", "lock")

	from("[npx, notes-server@1.2.3, --stdio]", `{npm: "`+at+`"}`)
	p.says(1, "notes-server@1.2.3 could not be installed", "lock")
	from("[npx, notes-server@1.2.3, --stdio]", `{npm: "`+at+`", allow_private: true}`)
	p.says(0, "added", "lock")
	p.says(0, "answered --stdio", echo...)
	pinned, err := os.ReadFile(filepath.Join(p.dir, app.LockName))
	if err != nil || !strings.Contains(string(pinned), `"source": "`+at+`"`) {
		t.Errorf("the lock file does not say %s (%v):\n%s", at, err, pinned)
	}

	// The same files from another registry are another package.
	from("[npx, notes-server@1.2.3, --stdio]", `{npm: "`+elsewhere+`", allow_private: true}`)
	p.says(1, "another package is pinned than notes-server@1.2.3", "check")
	p.says(1, "Unknown tool: mcp__notes__echo", echo...)
	if other.asked.Load() != 0 {
		t.Error("a registry was asked that is not approved")
	}
	if text := p.says(1, "another package is installed", "diff", "notes"); !strings.Contains(text, at) || !strings.Contains(text, elsewhere) {
		t.Errorf("diff does not show which registry it was and is:\n%s", text)
	}
	p.says(0, "pinned notes as it is", "lock", "accept", "notes", "--expect", p.expected())
	p.says(0, "answered --stdio", echo...)
}

// TestTheRegistryOfTheMachine imports a server where npm is set to a registry on
// this machine. Import takes the registry over and says so; what is installed
// comes from there, although the address is a private one and no configuration
// allows any.
func TestTheRegistryOfTheMachine(t *testing.T) {
	t.Parallel()
	n, at := registryHere(t)
	p := packageFolderOver(t, "", nil)
	p.network = nil // as in the program
	if err := os.MkdirAll(filepath.Join(p.dir, "home"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, p.dir, "home/.npmrc", "registry="+strings.TrimSuffix(at, "/")+"\n"+strings.TrimPrefix(at, "http:")+":_authToken=hunter2-hunter2\n")
	place(t, p.dir, "mcp.json", `{"mcpServers": {"notes": {"command": "npx", "args": ["notes-server@1.2.3", "--stdio"]}}}`)
	const configuration = "version: 1\npersonalities:\n  default: {toolset: []}\n"
	place(t, p.dir, app.ConfigName, configuration)

	text := p.says(0, "packages of npm come from "+at+", as "+filepath.Join(p.dir, "home", ".npmrc")+" says", "import", "./mcp.json")
	p.says(0, "holds a token or password for "+at+"; for packages that need it: sallyport secrets set registries/npm/127.0.0.1_", "import", "./mcp.json")
	if !strings.Contains(text, `npm: "`+at+`"`) || strings.Contains(text, "hunter2") {
		t.Errorf("the preview is\n%s", text)
	}
	p.says(0, "packages of npm come from "+at, "import", "./mcp.json", "--write")
	p.says(0, "added", "lock")
	p.says(0, "answered --stdio", "call", "--personality", "imported", "mcp__notes__echo", "{}")
	p.says(0, "packages       npm from "+strings.Trim(strings.TrimPrefix(at, "http://"), "/")+", at any address but", "check")
	if n.asked.Load() == 0 {
		t.Error("the registry was not asked")
	}
	if text := configText(t, p.dir); strings.Contains(text, "allow_private") || strings.Contains(text, "hunter2") || !strings.Contains(text, "packages:\n") {
		t.Errorf("the configuration is\n%s", text)
	}
	// A second import changes nothing.
	before := configText(t, p.dir)
	p.says(0, "", "import", "./mcp.json", "--write")
	if after := configText(t, p.dir); after != before {
		t.Errorf("a second import wrote\n%s", after)
	}
}

// TestTheMachinesOwnSetting installs a published server with the registry that
// this machine has for npm, through the machine's own network.
func TestTheMachinesOwnSetting(t *testing.T) {
	t.Parallel()
	needNPX(t)
	p := packageFolderOver(t, "", nil)
	p.network = nil // as in the program
	place(t, p.dir, "mcp.json", `{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "`+npmServers[0]+`"]}}}`)
	place(t, p.dir, app.ConfigName, "version: 1\npersonalities:\n  default: {toolset: []}\n")
	p.says(0, "wrote", "import", "./mcp.json", "--write")
	p.says(0, "added", "lock")
}
