package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
)

// verdict is the outcome of a call, in terms that every surface has.
type verdict struct {
	OK         bool
	Code, Text string
	CallID     string
	ApprovalID string
}

// protocolError is the code of an answer that is no result of a call.
const protocolError = "protocol error"

// surface is one way in which a call arrives.
type surface struct {
	name string
	call func(t *testing.T, tool, args string) verdict
}

// surfacesOf returns all surfaces of the configuration of a folder, each for
// the local user in the same role: two servers, the command line and the
// library, with one state. They end with the test.
func surfacesOf(t *testing.T, dir string) []surface {
	t.Helper()
	s := serveHTTP(t, dir)
	t.Cleanup(func() { s.stop(t) })
	list := []surface{
		{"HTTP API", func(t *testing.T, tool, args string) verdict { return s.overAPI(t, "application/json", tool, args) }},
		{"HTTP API, stream", func(t *testing.T, tool, args string) verdict { return s.overAPI(t, "text/event-stream", tool, args) }},
		{"command line", func(t *testing.T, tool, args string) verdict { return byCommand(t, dir, tool, args) }},
		{"batch", func(t *testing.T, tool, args string) verdict { return byBatch(t, dir, tool, args) }},
		librarySurface(t, dir),
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		line := newStdioLine(t, dir, version)
		list = append(list, surface{"stdio " + version, line.call})
		session := s.greet(t, version)
		for _, progress := range []bool{false, true} {
			name := "MCP " + version
			if progress {
				name += ", stream"
			}
			list = append(list, surface{name, func(t *testing.T, tool, args string) verdict {
				return s.overMCP(t, version, session, progress, tool, args)
			}})
		}
	}
	return list
}

// overAPI calls through the JSON API. The answer is a document or the last
// event of a stream.
func (s *service) overAPI(t *testing.T, accept, tool, args string) verdict {
	t.Helper()
	status, text := s.request(t, "POST", "/v1/actions/"+tool+"/execute", `{"params":`+args+`}`, s.headers("Accept", accept))
	if accept == "text/event-stream" && status == 200 && !strings.Contains(text, "event: result\n") {
		t.Errorf("the answer of a stream is %q, want events", text)
	}
	var a struct {
		Success    bool
		Data       json.RawMessage
		Error      string
		Code       string
		CallID     string `json:"call_id"`
		ApprovalID string `json:"approval_id"`
	}
	decodeLast(t, text, &a)
	return verdict{a.Success, a.Code, string(a.Data) + a.Error, a.CallID, a.ApprovalID}
}

// decodeLast decodes a document, or the document in the last event of a stream.
func decodeLast(t *testing.T, text string, into any) {
	t.Helper()
	if i := strings.LastIndex(text, "data: "); i >= 0 {
		text, _, _ = strings.Cut(text[i+len("data: "):], "\n")
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// message returns a call in a version of the protocol.
func message(version string, progress bool, tool, args string) string {
	var meta []string
	if progress {
		meta = append(meta, `"progressToken":"p"`)
	}
	if version == "2026-07-28" {
		meta = append(meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientCapabilities":{}`)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{%s}}}`,
		tool, args, strings.Join(meta, ","))
}

// greet opens a session when the version has sessions.
func (s *service) greet(t *testing.T, version string) (session string) {
	t.Helper()
	if version == "2026-07-28" {
		return ""
	}
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/mcp", strings.NewReader(strings.Replace(initialize, "2025-11-25", version, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range s.headers() {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || !bytes.Contains(text, []byte(`"protocolVersion":"`+version+`"`)) {
		t.Fatalf("initialize = %s, %v, want version %s", text, err, version)
	}
	return res.Header.Get("Mcp-Session-Id")
}

// overMCP calls over HTTP; progress requests an answer in a stream.
func (s *service) overMCP(t *testing.T, version, session string, progress bool, tool, args string) verdict {
	t.Helper()
	h := s.headers("Mcp-Protocol-Version", version, "Mcp-Session-Id", session)
	if version == "2026-07-28" {
		h = s.headers("Mcp-Protocol-Version", version, "Mcp-Method", "tools/call", "Mcp-Name", tool)
	}
	_, text := s.request(t, "POST", "/mcp", message(version, progress, tool, args), h)
	if progress && strings.Contains(text, `"result"`) && !strings.Contains(text, "data: ") {
		t.Errorf("the answer with progress is %q, want a stream", text)
	}
	return verdictOfMCP(t, text)
}

// verdictOfMCP decodes an answer of the protocol. Its text begins with the
// code, which other surfaces keep separate.
func verdictOfMCP(t *testing.T, text string) verdict {
	t.Helper()
	var a struct {
		Result *struct {
			IsError bool
			Content []struct{ Text string }
			Meta    struct {
				Code     string `json:"sallyport/code"`
				Call     string `json:"sallyport/call"`
				Approval string `json:"sallyport/approval_id"`
			} `json:"_meta"`
		}
		Error *struct {
			Code    int
			Message string
		}
	}
	switch decodeLast(t, text, &a); {
	case a.Error != nil:
		return verdict{Code: protocolError, Text: a.Error.Message}
	case a.Result == nil || len(a.Result.Content) == 0:
		t.Fatalf("%s is no result", text)
	}
	m := a.Result.Meta
	// Over MCP the text has the code in front and the id below, which are fields elsewhere.
	said := strings.TrimSuffix(strings.TrimPrefix(a.Result.Content[0].Text, m.Code+": "), "\nCall ID: "+m.Call)
	return verdict{!a.Result.IsError, m.Code, said, m.Call, m.Approval}
}

// byCommand calls with `sallyport call`.
func byCommand(t *testing.T, dir, tool, args string) verdict {
	t.Helper()
	return verdictOfResult(t, printed(t, sallyportCommand(dir, "call", "--json", tool, args)))
}

// byBatch calls with `sallyport batch`.
func byBatch(t *testing.T, dir, tool, args string) verdict {
	t.Helper()
	cmd := sallyportCommand(dir, "batch")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"id":"1","tool":%q,"args":%s}`, tool, args))
	var line struct{ Result json.RawMessage }
	if err := json.Unmarshal(printed(t, cmd), &line); err != nil {
		t.Fatal(err)
	}
	return verdictOfResult(t, line.Result)
}

// printed returns the output of a command that may fail.
func printed(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exited, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exited.ExitCode() != exitFailed) {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.Bytes())
	}
	return out
}

func verdictOfResult(t *testing.T, text []byte) verdict {
	t.Helper()
	var r struct {
		OK         bool
		Value      string
		Error      string
		Code       string
		CallID     string `json:"call_id"`
		ApprovalID string `json:"approval_id"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return verdict{r.OK, r.Code, r.Value + r.Error, r.CallID, r.ApprovalID}
}

// librarySurface returns the registry itself, built as the program builds it.
func librarySurface(t *testing.T, dir string) surface { return librarySurfaceOf(t, dir) }

// librarySurfaceOf reads the configuration from files of a folder.
func librarySurfaceOf(t *testing.T, dir string, files ...string) surface {
	t.Helper()
	for i := range files {
		files[i] = filepath.Join(dir, files[i])
	}
	env, _ := inFolder(t, dir)
	rt, err := app.OpenForCalls(t.Context(), &env.Environment, files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
	})
	role, err := rt.InForce().Config.Choose("")
	if err != nil {
		t.Fatal(err)
	}
	return surface{"Go library", func(t *testing.T, tool, args string) verdict {
		r := rt.InForce().Registry.Call(t.Context(), &sallyport.Caller{
			Principal: rt.Callers.Local(), Session: "library", Personality: role.Name,
			Platform: sallyport.PlatformGo, Workspace: rt.InForce().Config.Workspace,
		}, sallyport.Request{Tool: tool, Args: json.RawMessage(args)})
		return verdict{r.OK, string(r.Code), r.Value + r.Error, r.CallID, r.ApprovalID}
	}}
}

// stdioLine is a client of `serve --stdio`.
type stdioLine struct {
	mu      sync.Mutex
	version string
	in      io.Writer
	out     *bufio.Reader
}

func newStdioLine(t *testing.T, dir, version string) *stdioLine {
	t.Helper()
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
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("serve --stdio = %v", err)
		}
	})
	l := &stdioLine{version: version, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	if version != "2026-07-28" {
		if text := l.exchange(t, strings.Replace(initialize, "2025-11-25", version, 1)); !strings.Contains(text, version) {
			t.Fatalf("initialize = %s, want version %s", text, version)
		}
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return l
}

// exchange sends a request and returns its answer.
func (l *stdioLine) exchange(t *testing.T, text string) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := fmt.Fprintln(l.in, text); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := l.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, `"id":`) {
			return line
		}
	}
}

func (l *stdioLine) call(t *testing.T, tool, args string) verdict {
	t.Helper()
	return verdictOfMCP(t, l.exchange(t, message(l.version, false, tool, args)))
}
