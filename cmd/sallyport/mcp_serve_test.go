package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// folder is a workspace with a file to read, a link that leads out, and the
// configuration that init writes.
func folder(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte("# Hello, gate\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	runSallyport(t, dir, "init")
	return dir
}

// sallyport is this test binary as the program, in a folder. TestMain puts it
// on PATH.
func sallyportCommand(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("sallyport", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"))
	return cmd
}

// runSallyport runs a command that must succeed and returns its stdout.
func runSallyport(t testing.TB, dir string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := sallyportCommand(dir, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sallyport %v: %v\n%s%s", args, err, out, stderr.Bytes())
	}
	return string(out)
}

// service is a running `serve`.
type service struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer // to be read after wait
	banner string
	url    string // without a path
	token  string // "" when none was printed
}

// wait returns the exit code.
func (s *service) wait(t testing.TB) int {
	t.Helper()
	err := s.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

// stop asks the service to end and wants exit code 0.
func (s *service) stop(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 0 {
		t.Errorf("serve exited %d after SIGTERM, want 0:\n%s", code, s.stderr.Bytes())
	}
}

var (
	addressLine = regexp.MustCompile(`sallyport serves (http://[^/]+)/mcp`)
	tokenLine   = regexp.MustCompile(`token +(sallyport_[A-Za-z0-9_-]+)`)
)

// serveHTTP starts `serve` on a free port and reads what it prints.
func serveHTTP(t testing.TB, dir string, args ...string) *service {
	t.Helper()
	s := &service{cmd: sallyportCommand(dir, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	var banner strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&banner, lines.Text())
		// The last paragraph of what serve prints says what is enforced.
		if strings.Contains(lines.Text(), "audit tail") {
			break
		}
	}
	// Nothing else is printed that a full pipe could block.
	s.banner = banner.String()
	if m := addressLine.FindStringSubmatch(s.banner); m != nil {
		s.url = m[1]
	} else {
		t.Fatalf("serve printed no address:\n%s", s.banner)
	}
	if m := tokenLine.FindStringSubmatch(s.banner); m != nil {
		s.token = m[1]
	}
	return s
}

// request sends one request and returns status and body.
func (s *service) request(t testing.TB, method, path, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
			continue
		}
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

// headers are those of a good request, with changes; an empty value removes.
func (s *service) headers(changes ...string) map[string]string {
	h := map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + s.token,
	}
	for i := 0; i < len(changes); i += 2 {
		if h[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(h, changes[i])
		}
	}
	return h
}

func TestServeLetsOnlyItsOwnRequestsIn(t *testing.T) {
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

// stateOf is every byte of the state file and what SQLite keeps beside it.
func stateOf(t *testing.T, dir string) []byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, ".sallyport", "state.db*"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("Glob() = %v, %v, want the state file", paths, err)
	}
	var all []byte
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}

func TestServeWithoutAuthenticationIsForThisMachineOnly(t *testing.T) {
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

// TestServeEndsWhileAClientListens holds a session's stream open: the end of
// the server must not wait for it.
func TestServeEndsWhileAClientListens(t *testing.T) {
	s := serveHTTP(t, folder(t))
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	transport := &mcp.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: presenting{s.token}}}
	session, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	s.stop(t)
	// Half of the bound after which the server would cut connections.
	if took := time.Since(begun); took > shutdownTimeout/2 {
		t.Errorf("serve took %v to end, want it to close the client's stream", took)
	}
	_ = session.Close()
}

// presenting is a transport that presents a token.
type presenting struct{ token string }

func (p presenting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+p.token)
	return http.DefaultTransport.RoundTrip(r)
}

// TestServeSpeaksEveryVersionOverHTTP lets the official client read a file
// and be refused another, at each version of the protocol, at one address.
func TestServeSpeaksEveryVersionOverHTTP(t *testing.T) {
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

// reads reads what may be read and is refused what may not.
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

// TestServeStdioPrintsOnlyTheProtocol writes messages and rubbish, ends the
// input, and reads everything that came out.
func TestServeStdioPrintsOnlyTheProtocol(t *testing.T) {
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

// A client that goes away without a word must not take the record with it:
// what was decided is recorded although its answer cannot be written.
func TestServeStdioRecordsForAClientThatIsGone(t *testing.T) {
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

// TestServeAndCallsShareOneChain lets a server and command lines write at
// once; the chain must hold.
func TestServeAndCallsShareOneChain(t *testing.T) {
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
