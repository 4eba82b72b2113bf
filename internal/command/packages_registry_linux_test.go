package command

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
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
	p.says(0, "pinned notes as it is", "approve", "notes", "--expect", p.expected())
	p.says(0, "answered --stdio", echo...)
}
