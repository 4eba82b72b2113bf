package command

import (
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/internal/serverlist"
)

// freePort returns a port at which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// TestNoToolReachesAServerOfTheGate grants the address of a server in every way, and
// tries each way to it: from other processes of the user, and from the server itself.
func TestNoToolReachesAServerOfTheGate(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "bash", "curl")
	dir := t.TempDir()
	at := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	byName := strings.Replace(at, "127.0.0.1", "localhost", 1)
	place(t, dir, app.ConfigName, strings.NewReplacer("AT", at, "NAME", byName).Replace(`version: 1
secrets: [{dir: secrets}]
databases: {own: {driver: postgres, url_secret: db/own}}
mail: {default: {host: "NAME", tls: none, from: agent@example.com}}
mcp_servers: {own: {url: "http://AT/mcp"}}
principals: {local: {permissions: [http:read, database:read, email:send], personalities: [ops]}}
personalities:
  ops:
    toolset: [fetch_url, terminal, db-query, email-send]
    mcp_servers: [own]
    fs_reach: {read: ["${workspace}"]}
    safety:
      network: {allow: ["AT", "NAME"], allow_private: ["AT"], allow_private_urls: true}
      process: {allow: [bash, sh, curl]}
`))
	if err := os.MkdirAll(filepath.Join(dir, "secrets/db"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "secrets/db/own", "postgres://u:p@"+byName+"/x?sslmode=disable")
	s := serveHTTP(t, dir, "--listen", at)
	const own = "a listener of Sallyport itself"

	for _, call := range [][]string{
		{"fetch_url", `{"url":"http://` + at + `/healthz"}`},
		{"fetch_url", `{"url":"http://` + byName + `/healthz"}`},
		{"db-query", `{"query":"SELECT 1"}`},
		{"email-send", `{"to":"a@example.com","subject":"a","body":"b"}`},
	} {
		out, err := sallyportCommand(dir, "call", call[0], call[1]).CombinedOutput()
		if err == nil || !strings.Contains(string(out), own) {
			t.Errorf("call %s = %v, want a refusal of %s:\n%s", call, err, own, out)
		}
	}
	for _, way := range []string{"curl -sS -D- http://AT/healthz", "curl -sS -D- --noproxy '*' http://AT/healthz", "curl -sS -D- --noproxy '*' http://NAME/healthz", "exec 3<>/dev/tcp/PLACE && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"} {
		way = strings.NewReplacer("AT", at, "NAME", byName, "PLACE", strings.Replace(at, ":", "/", 1)).Replace(way)
		out, _ := sallyportCommand(dir, "call", "terminal", fmt.Sprintf(`{"command":%q}`, "bash -c "+fmt.Sprintf("%q", way))).CombinedOutput()
		if strings.Contains(string(out), "200 OK") || !strings.Contains(string(out), "exit code") {
			t.Errorf("%s prints\n%s", way, out)
		}
	}
	record, _ := sallyportCommand(dir, "audit", "export").CombinedOutput()
	if !strings.Contains(string(record), "a child of ") || strings.Count(string(record), own) < 5 {
		t.Errorf("the record does not say why:\n%s", record)
	}
	for _, tt := range []struct {
		want string
		args []string
	}{
		{own, []string{"lock"}},
		{"no setting lifts this", []string{"explain", "fetch_url", "--host", at}},
		{"no setting lifts this", []string{"explain", "fetch_url", "--host", byName}},
		{"which nothing lets through", []string{"grant", "ops", "--private", at}},
	} {
		out, err := sallyportCommand(dir, tt.args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), tt.want) || strings.Contains(string(out), "run: sallyport grant") {
			t.Errorf("%v = %v, want %q:\n%s", tt.args, err, tt.want, out)
		}
	}
	if status, text := s.request(t, "POST", "/v1/actions/fetch_url/execute", `{"params":{"url":"http://`+byName+`/healthz"}}`, s.headers()); !strings.Contains(text, own) {
		t.Errorf("the server itself = %d %s, want a refusal", status, text)
	}
	s.stop(t)
	if left, err := os.ReadDir(filepath.Join(dir, "home/.local/state/sallyport/servers")); err != nil || len(left) > 0 {
		t.Errorf("after the end these are listed: %v, %v", left, err)
	}
}

// TestPackagesAreNotInstalledFromTheGate: the machine's own registry may have any
// address but that of a server of the gate.
func TestPackagesAreNotInstalledFromTheGate(t *testing.T) {
	t.Parallel()
	needs.Toolchain(t)
	p := packageFolderOver(t, "", nil)
	p.network = nil // as in the program
	own := serverlist.NewListeners(filepath.Join(p.dir, "home/.local/state/sallyport/servers"), nil)
	l, err := own.Open(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := newNPMStandInAt(t, l.Addr().String(), "1.2.3")
	server := httptest.NewUnstartedServer(n)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	place(t, p.dir, "home/.npmrc", "registry="+server.URL+"\n")
	p.declare("[npx, notes-server@1.2.3, --stdio]")
	place(t, p.dir, app.ConfigName, configText(t, p.dir)+"packages: {npm: \""+server.URL+"/\", allow_private: true}\n")
	p.says(1, "403 Forbidden - GET "+server.URL+"/notes-server", "lock")
	if n.asked.Load() != 0 {
		t.Error("a server of the gate was asked for a package")
	}
}
