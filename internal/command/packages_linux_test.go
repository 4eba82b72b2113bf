package command

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/needs"
)

// packaged is an MCP server in a package of npm, without a library.
const packaged = `#!/usr/bin/env node
require("readline").createInterface({input: process.stdin}).on("line", line => {
  const q = JSON.parse(line), send = m => console.log(JSON.stringify({jsonrpc: "2.0", id: q.id, ...m}));
  if (q.id === undefined) return;
  if (q.method === "initialize") send({result: {protocolVersion: q.params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "p", version: "1"}}});
  else if (q.method === "tools/list") send({result: {tools: [{name: "echo", inputSchema: {type: "object"}}]}});
  else if (q.method === "tools/call") send({result: {content: [{type: "text", text: "answered " + process.argv.slice(2)}]}});
  else send({error: {code: -32601, message: "no such method"}});
});
`

// npmStandIn is a registry of npm with one package in several versions. It
// counts the archives that it served.
type npmStandIn struct {
	host  string
	name  string
	balls map[string][]byte
	doc   map[string]any
	given atomic.Int64
	asked atomic.Int64
}

func newNPMStandIn(t *testing.T, versions ...string) *npmStandIn {
	t.Helper()
	return newNPMStandInAt(t, "registry.example.org", versions...)
}

func newNPMStandInAt(t *testing.T, host string, versions ...string) *npmStandIn {
	t.Helper()
	return newNPMStandInOf(t, host, "notes-server", packaged, versions...)
}

// newNPMStandInOf has one package, whose program is a text.
func newNPMStandInOf(t *testing.T, host, name, program string, versions ...string) *npmStandIn {
	t.Helper()
	n := &npmStandIn{host: host, name: name, balls: map[string][]byte{}}
	all := map[string]any{}
	for _, version := range versions {
		manifest := map[string]any{"name": name, "version": version, "bin": map[string]string{"server": "index.js"}}
		text, err := json.Marshal(manifest)
		if err != nil {
			t.Fatal(err)
		}
		ball := npmArchive(t, map[string]string{"package.json": string(text), "index.js": program + "// " + version + "\n"})
		sum := sha512.Sum512(ball)
		at := "/" + name + "/-/server-" + version + ".tgz"
		n.balls[at] = ball
		manifest["dist"] = map[string]string{
			"tarball": "http://" + n.host + at, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
		}
		all[version] = manifest
	}
	newest := versions[len(versions)-1]
	n.doc = map[string]any{"name": name, "dist-tags": map[string]string{"latest": newest}, "versions": all}
	return n
}

// npmArchive creates an archive as npm does.
func npmArchive(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	archive := tar.NewWriter(zipped)
	for name, body := range files {
		if err := archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ServeHTTP answers like the registry.
func (n *npmStandIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.asked.Add(1)
	if ball, ok := n.balls[r.URL.Path]; ok {
		n.given.Add(1)
		_, _ = w.Write(ball)
		return
	}
	switch r.URL.Path {
	case "/" + n.name:
		_ = json.NewEncoder(w).Encode(n.doc)
	case "/" + n.name + "/latest":
		newest := n.doc["dist-tags"].(map[string]string)["latest"]
		_ = json.NewEncoder(w).Encode(n.doc["versions"].(map[string]any)[newest])
	default:
		http.NotFound(w, r)
	}
}

// packageFolder is a folder whose commands use the stand-in registry.
type packageFolder struct {
	t        *testing.T
	dir      string
	network  *sallyport.NetworkBackend
	packages *install.Options
}

func newPackageFolder(t *testing.T, n *npmStandIn) *packageFolder {
	t.Helper()
	server := httptest.NewServer(n)
	t.Cleanup(server.Close)
	return packageFolderOver(t, strings.TrimPrefix(server.URL, "http://"), &install.Options{NPM: "http://" + n.host})
}

// packageFolderOver resolves every name to one address, which counts as public.
func packageFolderOver(t *testing.T, address string, o *install.Options) *packageFolder {
	t.Helper()
	needs.Programs(t, "npm", "node", "tar")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { makeRemovable(dir) })
	return &packageFolder{t, dir, &sallyport.NetworkBackend{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.AddrFrom4([4]byte{93, 184, 216, 1})}, nil
		},
		Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, address)
		},
	}, o}
}

// declare writes a configuration with two servers; no personality may use the
// second one.
func (p *packageFolder) declare(command string) {
	p.t.Helper()
	place(p.t, p.dir, app.ConfigName, "version: 1\nmcp_servers:\n  notes: {command: "+command+"}\n  nobody: {command: [npx, notes-server@1.3.0]}\npersonalities:\n  ops: {toolset: [], mcp_servers: [notes]}\n")
}

// says runs a command in this process. The command must end with a code and
// print a text.
func (p *packageFolder) says(code int, want string, args ...string) string {
	p.t.Helper()
	got, out, said := p.run(args...)
	if text := out + said; got != code || !strings.Contains(text, want) || strings.Contains(text, "the note of outside") {
		p.t.Errorf("%v = %d, want %d; it says\n%s\nwant %q", args, got, code, text, want)
	}
	return out
}

// run runs a command in this process, and returns its exit code and what it
// prints on both streams.
func (p *packageFolder) run(args ...string) (code int, stdout, stderr string) {
	p.t.Helper()
	var out, said bytes.Buffer
	env := &environment{
		stdin: io.NopCloser(strings.NewReader("")), stdout: nopCloser{&out}, Environment: app.Environment{
			Stderr: &said, Dir: p.dir, Home: filepath.Join(p.dir, "home"), Network: p.network, Packages: p.packages,
			Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
		},
	}
	code = runCommand(p.t.Context(), args, env)
	return code, out.String(), said.String()
}

// folders returns the installed copies.
func (p *packageFolder) folders() []string {
	p.t.Helper()
	list, err := filepath.Glob(filepath.Join(p.dir, app.StateDir, "packages", "notes-server@*"))
	if err != nil {
		p.t.Fatal(err)
	}
	return list
}

// expected returns the digest that diff shows.
func (p *packageFolder) expected() string {
	p.t.Helper()
	var d pinning.LockDiff
	text := p.says(1, "another package is installed, or its content changed", "diff", "notes", "--json")
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Servers) != 1 {
		p.t.Fatalf("diff: %v", err)
	}
	return d.Servers[0].SHA256
}

// TestPackageLauncher runs the server of a package: never before it is pinned,
// only from the installed copy, and not when a file of that copy was changed.
func TestPackageLauncher(t *testing.T) {
	t.Parallel()
	n := newNPMStandIn(t, "1.2.3", "1.3.0")
	p := newPackageFolder(t, n)
	echo := []string{"call", "mcp__notes__echo", "{}"}

	// Without a version only this server does not start, and lock names the
	// version to write.
	p.declare(`[npx, -y, notes-server]`)
	p.says(1, "names no version: write an exact one, such as notes-server@1.2.3; sallyport lock says which is the newest", "check")
	p.says(1, "notes-server names no exact version: write notes-server@1.3.0, which is the newest", "lock")

	// Without a pin no package is installed.
	p.declare(`[npx, -y, notes-server@1.2.3, --stdio]`)
	before := n.asked.Load()
	p.says(1, "the package notes-server@1.2.3 is not pinned: sallyport lock pins what it is now", "check")
	p.says(1, "Unknown tool: mcp__notes__echo", echo...)
	if n.asked.Load() != before || len(p.folders()) != 0 {
		t.Error("something was installed that is not pinned")
	}
	p.says(0, "notes   added     1 definition", "lock")
	p.says(0, "answered --stdio", echo...)
	p.says(0, "answers", "check")
	p.says(0, "install-package-notes", "audit", "tail", "--last", "100")
	if got := n.given.Load(); got != 1 {
		t.Errorf("the registry gave %d archives, want 1", got)
	}

	// A pinned package is installed when it is needed and missing.
	copies := p.folders()
	if len(copies) != 1 {
		t.Fatalf("installed: %v", copies)
	}
	remove(t, copies[0])
	// Only versions of that time count: here there is none.
	n.doc["time"] = map[string]string{"1.2.3": "2026-01-01T00:00:00Z", "1.3.0": "2026-01-02T00:00:00Z"}
	pinned, err := os.ReadFile(filepath.Join(p.dir, app.LockName))
	if err != nil {
		t.Fatal(err)
	}
	place(t, p.dir, app.LockName, regexp.MustCompile(`"before": "[^"]+"`).ReplaceAllString(string(pinned), `"before": "2020-01-01T00:00:00Z"`))
	p.says(1, "notes-server@1.2.3 could not be installed", echo...)
	place(t, p.dir, app.LockName, string(pinned))
	p.says(0, "answered --stdio", echo...)

	// A changed copy does not run.
	index := filepath.Join(copies[0], "package", "node_modules", "notes-server", "index.js")
	if err := os.Chmod(index, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(index, []byte(packaged), 0o644); err != nil {
		t.Fatal(err)
	}
	p.says(1, "the installed copy of notes-server@1.2.3 was changed", echo...)
	remove(t, copies[0])

	// Another version is another server until an operator approves it.
	p.declare(`[npx, -y, notes-server@1.3.0, --stdio]`)
	p.says(1, "another package is pinned than notes-server@1.3.0: sallyport diff notes shows what changed", "check")
	p.says(1, "Unknown tool: mcp__notes__echo", echo...)
	p.says(0, "pinned notes as it is", "lock", "accept", "notes", "--expect", p.expected())
	p.says(0, "answered --stdio", echo...)
}

// TestPackageOfAnotherContent lets the registry serve something other than what
// is pinned, such as a new version of a dependency.
func TestPackageOfAnotherContent(t *testing.T) {
	t.Parallel()
	first, second := newNPMStandIn(t, "1.2.3"), newNPMStandIn(t, "1.2.3")
	p := newPackageFolder(t, first)
	p.declare(`[npx, notes-server@1.2.3]`)
	p.says(0, "added", "lock")
	other := newPackageFolder(t, second)
	for at := range second.balls {
		ball := npmArchive(t, map[string]string{
			"package.json": `{"name":"notes-server","version":"1.2.3","bin":"index.js"}`, "index.js": packaged + "// evil\n",
		})
		sum := sha512.Sum512(ball)
		second.balls[at] = ball
		second.doc["versions"].(map[string]any)["1.2.3"].(map[string]any)["dist"].(map[string]string)["integrity"] = "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	}
	for _, name := range []string{app.ConfigName, app.LockName} {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		place(t, other.dir, name, string(text))
	}
	other.says(1, "notes-server@1.2.3 or a package that it needs differs from its pin", "check")
}

// remove removes an installed copy.
func remove(t *testing.T, dir string) {
	t.Helper()
	makeRemovable(dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}

// makeRemovable lets the owner remove folders without write permission.
func makeRemovable(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}
