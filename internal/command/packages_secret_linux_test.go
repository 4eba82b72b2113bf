package command

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// guardedRegistry is a registry that answers who sends a header only.
type guardedRegistry struct {
	n       *npmStandIn
	want    atomic.Pointer[string]
	refused atomic.Int64
}

func (g *guardedRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != *g.want.Load() {
		g.refused.Add(1)
		http.Error(w, "who are you, "+r.Header.Get("Authorization")+"?", http.StatusUnauthorized)
		return
	}
	g.n.ServeHTTP(w, r)
}

// newGuardedRegistry starts one, and returns the reference of its secret.
func newGuardedRegistry(t *testing.T) (g *guardedRegistry, at, ref string) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	address := server.Listener.Addr().String()
	g = &guardedRegistry{n: newNPMStandInAt(t, address, "1.2.3")}
	server.Config.Handler = g
	server.Start()
	t.Cleanup(server.Close)
	return g, server.URL + "/", "registries/npm/" + strings.Replace(address, ":", "_", 1)
}

// guardedFolder is a folder with a server from a guarded registry, whose secret has a
// value.
func guardedFolder(t *testing.T, command, at, ref, value string) *packageFolder {
	t.Helper()
	p := packageFolderOver(t, "", nil)
	p.network = nil // as in the program
	if err := os.MkdirAll(filepath.Join(p.dir, "secrets", filepath.Dir(ref)), 0o700); err != nil {
		t.Fatal(err)
	}
	p.declare(command)
	place(t, p.dir, app.ConfigName, configText(t, p.dir)+"secrets: [{dir: secrets}]\npackages: {npm: \""+at+"\", allow_private: true}\n")
	if value != "" {
		place(t, p.dir, filepath.Join("secrets", ref), value)
	}
	return p
}

// wantSecrecy searches the files of a folder for a value, but for those in which a user
// has put it.
func (p *packageFolder) wantSecrecy(value string) {
	p.t.Helper()
	_ = filepath.WalkDir(p.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/secrets/") || path == filepath.Join(p.dir, "home", ".npmrc") {
			return nil
		}
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(value)) {
			p.t.Errorf("%s holds the value", path)
		}
		return nil
	})
}

// TestARegistryIsToldWhoAsks: the token of a registry is sent to it, as a bearer token
// or as user and password, and appears nowhere, also when the registry repeats it.
func TestARegistryIsToldWhoAsks(t *testing.T) {
	t.Parallel()
	for value, header := range map[string]string{
		"token-of-the-registry":  "Bearer token-of-the-registry",
		"ann:password-of-annann": "Basic YW5uOnBhc3N3b3JkLW9mLWFubmFubg==",
	} {
		g, at, ref := newGuardedRegistry(t)
		p := guardedFolder(t, "[npx, notes-server]", at, ref, value)
		g.want.Store(&header)
		p.says(1, "write notes-server@1.2.3, which is the newest", "lock")
		if g.refused.Load() > 0 {
			t.Error("the registry was asked without the secret")
		}
		other := "Bearer another-token-than-that"
		g.want.Store(&other)
		if _, out, said := p.run("lock"); strings.Contains(out+said, value) || strings.Contains(out+said, "YW5u") || g.refused.Load() == 0 {
			t.Errorf("a refusal prints\n%s%s", out, said)
		}
		p.wantSecrecy(value)
		// Without a secret, and with that of another host, nothing is sent.
		none := ""
		for _, ref := range []string{ref, "registries/npm/127.0.0.1_1"} {
			p := guardedFolder(t, "[npx, notes-server]", at, ref, "")
			if ref == "registries/npm/127.0.0.1_1" {
				place(t, p.dir, filepath.Join("secrets", ref), value)
			}
			g.want.Store(&none)
			p.says(1, "write notes-server@1.2.3, which is the newest", "lock")
		}
	}
}

// TestNPMIsToldTheToken installs with npm from a registry that wants a token.
func TestNPMIsToldTheToken(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	for value, header := range map[string]string{
		"token-of-the-registry":  "Bearer token-of-the-registry",
		"ann:password-of-annann": "Basic YW5uOnBhc3N3b3JkLW9mLWFubmFubg==",
	} {
		g, at, ref := newGuardedRegistry(t)
		g.want.Store(&header)
		p := guardedFolder(t, "[npx, notes-server@1.2.3, --stdio]", at, ref, value)
		p.says(0, "added", "lock")
		p.says(0, "answered --stdio", "call", "mcp__notes__echo", "{}")
		p.wantSecrecy(value)
		other := "Bearer another-token-than-that"
		g.want.Store(&other)
		p = guardedFolder(t, "[npx, notes-server@1.2.3, --stdio]", at, ref, value)
		if code, out, said := p.run("lock"); code == 0 || strings.Contains(out+said, value) {
			t.Errorf("a refused installation prints\n%s%s", out, said)
		}
		p.wantSecrecy(value)
	}
}
