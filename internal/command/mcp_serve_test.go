package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/app/serving"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestServeLetsOnlyItsOwnRequestsIn(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, folder(t))
	tests := []struct {
		name    string
		method  string
		path    string
		changes []string
		want    int
	}{
		{name: "good", want: 200},
		{name: "no token", changes: []string{"Authorization", ""}, want: 401},
		{name: "wrong token", changes: []string{"Authorization", "Bearer " + strings.Repeat("x", 53)}, want: 401},
		{name: "token of another scheme", changes: []string{"Authorization", "Basic " + s.token}, want: 401},
		{name: "evil host", changes: []string{"Host", "evil.example"}, want: 403},
		{name: "rebound host", changes: []string{"Host", "evil.example" + s.url[strings.LastIndex(s.url, ":"):]}, want: 403},
		{name: "foreign origin", changes: []string{"Origin", "https://evil.example"}, want: 403},
		{name: "cross-site", changes: []string{"Sec-Fetch-Site", "cross-site"}, want: 403},
		{name: "form", changes: []string{"Content-Type", "text/plain"}, want: 415},
		{name: "no content type", changes: []string{"Content-Type", ""}, want: 415},
		{name: "listening without a token", method: "GET", changes: []string{"Authorization", ""}, want: 401},
		{name: "no such page", method: "GET", path: "/nothing", want: 404},
		{name: "no such page without a token", method: "GET", path: "/nothing", changes: []string{"Authorization", ""}, want: 401},
		{name: "healthy", method: "GET", path: "/healthz", changes: []string{"Authorization", ""}, want: 200},
		{name: "ready", method: "GET", path: "/readyz", changes: []string{"Authorization", ""}, want: 200},
		{name: "healthy for another host", method: "GET", path: "/healthz", changes: []string{"Authorization", "", "Host", "evil.example"}, want: 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			method, path, body := tt.method, tt.path, ""
			if method == "" {
				method, body = "POST", initialize
			}
			if path == "" {
				path = "/mcp"
			}
			if status, text := s.request(t, method, path, body, s.headers(tt.changes...)); status != tt.want {
				t.Errorf("status = %d %s, want %d", status, text, tt.want)
			}
		})
	}
	s.stop(t)
}

func TestServeTokenIsPrintedOnceAndReplaced(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	first := serveHTTP(t, dir)
	if first.token == "" {
		t.Fatalf("the first start prints no token:\n%s", first.banner)
	}
	first.stop(t)
	again := serveHTTP(t, dir)
	if again.token != "" || strings.Contains(again.banner, first.token) {
		t.Errorf("the second start prints a token:\n%s", again.banner)
	}
	again.token = first.token
	if status, text := again.request(t, "POST", "/mcp", initialize, again.headers()); status != 200 {
		t.Errorf("the first token after a restart: status %d %s, want 200", status, text)
	}
	again.stop(t)
	fresh := serveHTTP(t, dir, "--new-token")
	if fresh.token == "" || fresh.token == first.token {
		t.Fatalf("--new-token prints %q, want another than %q", fresh.token, first.token)
	}
	if status, _ := fresh.request(t, "POST", "/mcp", initialize, fresh.headers()); status != 200 {
		t.Errorf("the new token: status %d, want 200", status)
	}
	if status, _ := fresh.request(t, "POST", "/mcp", initialize, fresh.headers("Authorization", "Bearer "+first.token)); status != 401 {
		t.Errorf("the replaced token: status %d, want 401", status)
	}
	fresh.stop(t)
	state := stateOf(t, dir)
	if bytes.Contains(state, []byte(first.token)) || bytes.Contains(state, []byte(fresh.token)) {
		t.Error("the state file holds a token, want its hash only")
	}
}

// stateOf returns every byte of the state file, of the files that SQLite keeps
// beside it, and of the record.
func stateOf(t *testing.T, dir string) []byte {
	t.Helper()
	var all []byte
	for _, pattern := range []string{"state.db", "state.db-[sw]*", "state.db-log/*"} {
		paths, err := filepath.Glob(filepath.Join(dir, ".sallyport", pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("Glob(%s) = %v, %v, want files of the state", pattern, paths, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, text...)
		}
	}
	return all
}

func TestServeWithoutAuthenticationIsForThisMachineOnly(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	const open = "open.yaml"
	if err := os.WriteFile(filepath.Join(dir, open), []byte("version: 1\nsecurity: {require_auth: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "[::]:0", "example.com:80"} {
		cmd := sallyportCommand(dir, "serve", "--config", open, "--listen", address)
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), "security.require_auth") {
			t.Errorf("serve --listen %s = %v %s, want a refusal that names the key", address, err, out)
		}
	}
}

// TestServeEndsWhileAClientListens keeps a session's stream open: the end of
// the server must not wait for it.
func TestServeEndsWhileAClientListens(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, folder(t))
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: presenting{s.token}}}
	session, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s.stop(t)
	// The limit is half of the time after which the server would cut
	// connections.
	if took := time.Since(begun); took > serving.ShutdownTimeout/2 {
		t.Errorf("serve took %v to end, want it to close the client's stream", took)
	}
	_ = session.Close()
}

// presenting is a transport that sends a token.
type presenting struct{ token string }

func (p presenting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+p.token)
	return http.DefaultTransport.RoundTrip(r)
}

// TestServeSpeaksEveryVersionOverHTTP lets the official client read one file
// and be refused another, with each version of the protocol, at one address.
func TestServeSpeaksEveryVersionOverHTTP(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := serveHTTP(t, dir)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: presenting{s.token}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			reads(t, session)
		})
	}
	s.stop(t)
}

// reads reads a permitted file and requires the refusal of another one.
func reads(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	for path, want := range map[string]string{
		"README.md": "Hello, gate", "/etc/passwd": "PATH_NOT_REACHABLE: ", "link": "PATH_NOT_REACHABLE: ", "../x": "PATH_NOT_REACHABLE: ",
	} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": path}})
		if err != nil {
			t.Fatal(err)
		}
		text := res.Content[0].(*mcp.TextContent).Text
		if refused := strings.HasPrefix(want, "PATH"); !strings.Contains(text, want) || res.IsError != refused {
			t.Errorf("read_file %s = %q, error %v, want %q", path, text, res.IsError, want)
		}
	}
}

// TestServeStdioPrintsOnlyTheProtocol writes messages and invalid text, ends
// the input, and reads all the output.
func TestServeStdioPrintsOnlyTheProtocol(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd := sallyportCommand(dir, "serve", "--stdio")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		initialize,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`rubbish`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"/etc/passwd"}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a","path":"README.md"}}}`,
	}, "\n"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("serve --stdio = %v, want exit 0 at the end of the input\n%s", err, stderr.Bytes())
	}
	wants := map[string]string{
		"1": `"protocolVersion":"2025-11-25"`, "null": `-32700`, "2": `Hello, gate`,
		"3": `PATH_NOT_REACHABLE: read not permitted for /etc/passwd`, "4": `repeats the key`,
	}
	for line := range bytes.Lines(out) {
		var m struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
			t.Errorf("stdout holds %s, want the protocol only", line)
			continue
		}
		if want, ok := wants[string(m.ID)]; !ok || !bytes.Contains(line, []byte(want)) {
			t.Errorf("answer %s lacks %q", line, want)
		}
		delete(wants, string(m.ID))
	}
	if len(wants) != 0 {
		t.Errorf("no answer to %v", wants)
	}
}

func TestServeStdioEndsOnSignal(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd := sallyportCommand(folder(t), "serve", "--stdio")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(in, initialize)
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("serve --stdio after %v = %v, want exit 0", signal, err)
			}
		})
	}
}

// A client that disconnects without notice must not lose the record: the
// decision is recorded although its answer cannot be written.
func TestServeStdioRecordsForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	cmd := sallyportCommand(dir, "serve", "--stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, initialize)
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	out.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"}}}`)
	_ = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		t.Errorf("serve --stdio died of %v, want it to end by itself", status.Signal())
	}
	tail := runSallyport(t, dir, "audit", "tail", "--json")
	if got := strings.Count(tail, `"outcome"`); got != 1 {
		t.Errorf("audit tail holds %d outcomes, want 1:\n%s", got, tail)
	}
	in.Close()
}

// TestServeAndCallsShareOneChain lets a server and command lines write at the
// same time: the chain must stay valid.
func TestServeAndCallsShareOneChain(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := serveHTTP(t, dir)
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`) })
	}
	for i := range 5 {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"README.md"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, i)
		group.Go(func() {
			status, text := s.request(t, "POST", "/mcp", body, s.headers("Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "read_file"))
			if status != 200 || !strings.Contains(text, "Hello, gate") {
				t.Errorf("status %d %s, want the file", status, text)
			}
		})
	}
	group.Wait()
	s.stop(t)
	if got := strings.Count(runSallyport(t, dir, "audit", "tail", "--json"), `"outcome"`); got != 8 {
		t.Errorf("audit tail holds %d outcomes, want 8", got)
	}
	runSallyport(t, dir, "audit", "verify")
}
