package command

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
)

// ownImport is a folder of a project, beside the home of its user.
type ownImport struct {
	t         *testing.T
	dir, home string
}

// newOwnImport returns one with the settings of npm for a guarded registry, and a client
// that starts a server from it.
func newOwnImport(t *testing.T, settings string) (o *ownImport, g *guardedRegistry, ref string) {
	t.Helper()
	needs.Toolchain(t)
	g, at, ref := newGuardedRegistry(t)
	root := packageFolderOver(t, "", nil).dir
	o = &ownImport{t, filepath.Join(root, "project"), filepath.Join(root, "home")}
	for _, dir := range []string{o.dir, o.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	address := strings.TrimPrefix(at, "http:")
	place(t, o.home, ".npmrc", "registry="+at+"\n"+strings.ReplaceAll(settings, "//HERE/", address))
	place(t, o.dir, "mcp.json", `{"mcpServers": {"notes": {"command": "npx", "args": ["notes-server@1.2.3", "--stdio"]}}}`)
	return o, g, ref
}

// says runs a command with an input. It must end with a code and print a text.
func (o *ownImport) says(code int, want, input string, args ...string) string {
	o.t.Helper()
	var out bytes.Buffer
	got := runCommand(o.t.Context(), args, &environment{
		stdin: io.NopCloser(strings.NewReader(input)), stdout: nopCloser{&out}, Environment: app.Environment{
			Stderr: &out, Dir: o.dir, Home: o.home,
			Lookup: func(string) (string, bool) { return "", false }, Pairs: func() []string { return nil },
		},
	})
	if text := out.String(); got != code || !strings.Contains(text, want) {
		o.t.Errorf("%v = %d, want %d; it says\n%s\nwant %q", args, got, code, text, want)
	}
	return out.String()
}

// wantHeader sets the header that a registry answers.
func (g *guardedRegistry) wantHeader(header string) { g.want.Store(&header) }

const (
	ownToken = "//HERE/:_authToken=token-of-the-registry\n"
	ownPair  = "//HERE/:username=ann\n//HERE/:_password=cGFzc3dvcmQtb2YtYW5uYW5u\n"
)

// TestImportStoresTheCredentialOfTheRegistry takes over a server whose registry wants
// the token or the password that npm has on this machine. It is stored before the
// packages are installed, shows nowhere, and a rollback removes it.
func TestImportStoresTheCredentialOfTheRegistry(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string][2]string{
		ownToken: {"Bearer token-of-the-registry", "token-of-the-registry"},
		ownPair:  {"Basic YW5uOnBhc3N3b3JkLW9mLWFubmFubg==", "password-of-annann"},
	} {
		o, g, ref := newOwnImport(t, settings)
		g.wantHeader(want[0])
		stored := "is stored as the secret " + ref + " in the file .sallyport/secrets.age"
		said := o.says(0, stored, "", "import", "./mcp.json", "--yes")
		said += o.says(0, "answered --stdio", "", "call", "--personality", "imported", "mcp__notes__echo", "{}")
		said += o.says(0, ref, "", "audit", "tail")
		if strings.Contains(said, want[1]) {
			t.Errorf("the value is shown:\n%s", said)
		}
		(&packageFolder{t: t, dir: filepath.Dir(o.dir)}).wantSecrecy(want[1])
		o.says(0, "", "", "import", "./mcp.json", "--yes")

		o.says(0, "the secret "+ref+", which import stored, is removed", "", "import", "--rollback", "./mcp.json")
		o.says(2, "no store has", "", "secrets", "rm", ref)
		// The server is declared still; what its registry wants is stored again.
		o.says(0, stored, "", "import", "./mcp.json", "--yes")
		// A value that the user sets since stays.
		o.says(0, "is in the file", "another-token-than-that", "secrets", "set", ref)
		o.says(0, "is as it was", "", "import", "--rollback", "./mcp.json")
		o.says(0, ref+" is removed from the file", "", "secrets", "rm", ref)
	}
}

// TestImportStoresTheSecretsOfServers takes over a server whose secret stands in the
// client's file. It is stored where the user names the host that gets it, shows nowhere,
// and a rollback removes it; the next import stores it again.
func TestImportStoresTheSecretsOfServers(t *testing.T) {
	t.Parallel()
	o, g, _ := newOwnImport(t, ownToken)
	g.wantHeader("Bearer token-of-the-registry")
	const value, ref = "sk-proj-0123456789abcdefghijklmnop", "mcp/notes/API_TOKEN"
	place(t, o.dir, "mcp.json", `{"mcpServers": {"notes": {"command": "npx", "args": ["notes-server@1.2.3", "--stdio"], "env": {"API_TOKEN": "`+value+`"}}}}`)
	said := o.says(0, "API_TOKEN looks like a secret and was not copied: name the hosts", "", "import", "./mcp.json", "--yes")
	o.says(2, "no store has", "", "secrets", "rm", ref)

	// A server that does not work leaves nothing behind, and nothing says otherwise.
	working, err := os.ReadFile(filepath.Join(o.dir, "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	place(t, o.dir, "mcp.json", strings.Replace(string(working), "notes-server@1.2.3", "gone-server@1.2.3", 1))
	if out := o.says(0, "nothing to import", "", "import", "./mcp.json", "--yes", "--host", "notes=api.example.com"); strings.Contains(out, "the value of API_TOKEN") {
		t.Errorf("of a server that does not work it says\n%s", out)
	}
	o.says(2, "no store has", "", "secrets", "rm", ref)
	place(t, o.dir, "mcp.json", string(working))

	takeOver := []string{"import", "./mcp.json", "--yes", "--host", "notes=api.example.com"}
	stored := "the value of API_TOKEN is stored as the secret " + ref + " in the file .sallyport/secrets.age"
	said += o.says(0, stored, "", takeOver...)
	said += o.says(0, "answered --stdio", "", "call", "--personality", "imported", "mcp__notes__echo", "{}")
	said += o.says(0, ref, "", "audit", "tail")
	if strings.Contains(said, value) {
		t.Errorf("the value is shown:\n%s", said)
	}
	(&packageFolder{t: t, dir: o.dir}).wantSecrecy(value) // beside the copy of the client's file
	o.says(0, "the secret "+ref+", which import stored, is removed", "", "import", "--rollback", "./mcp.json")
	o.says(0, "servers: 1 declared already", "", takeOver...)
	o.says(0, "answered --stdio", "", "call", "--personality", "imported", "mcp__notes__echo", "{}")
	// A value that the user sets since stays, and the next import does not take its place.
	o.says(0, "is in the file", "another-token-than-that", "secrets", "set", ref)
	o.says(0, "is as it was", "", "import", "--rollback", "./mcp.json")
	o.says(0, "servers: 1 declared already", "", takeOver...)
	o.says(0, ref+" is removed from the file", "", "secrets", "rm", ref)
}

// TestAnImportThatTakesNothingStoresNothing: a registry that refuses the credential
// leaves none behind, and a server whose credential could not be stored names the command
// that does it.
func TestAnImportThatTakesNothingStoresNothing(t *testing.T) {
	t.Parallel()
	o, g, ref := newOwnImport(t, ownToken)
	g.wantHeader("Bearer another-token-than-that")
	o.says(0, "nothing to import", "", "import", "./mcp.json", "--yes")
	o.says(2, "no store has", "", "secrets", "rm", ref)

	o, g, ref = newOwnImport(t, ownToken)
	g.wantHeader("Bearer token-of-the-registry")
	place(t, o.dir, app.ConfigName, "version: 2\npersonalities:\n  default: {tools: []}\nsecrets: [{env: SALLYPORT_SECRET_}]\n")
	o.says(0, "sallyport secrets set "+ref+" (not stored: secrets of the configuration names no file: write ", "", "import", "./mcp.json", "--yes")
}
