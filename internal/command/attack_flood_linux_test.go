package command

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

// One pattern keeps a backtracking matcher busy for ever, and some documents
// nest without end. Every surface refuses them and keeps running.
func TestDoS_PatternsAndDepth(t *testing.T) {
	t.Parallel()
	upstream := newRecorder(t)
	dir := noteFolder(t, upstream)
	text := configText(t, dir)
	place(t, dir, app.ConfigName, strings.Replace(text, "kind: {type: string}", `kind: {type: string, pattern: "^(a+)+$"}`, 1))
	surfaces := surfacesOf(t, dir)
	deep := func(open, end string, n int) string {
		return `{"task":"a","list":` + strings.Repeat(open, n) + "1" + strings.Repeat(end, n) + `}`
	}
	for name, args := range map[string]string{
		"a pattern": `{"task":"a","kind":"` + strings.Repeat("a", 50_000) + `!"}`,
		"lists":     deep("[", "]", 100_000),
		"objects":   `{"task":"a","inner":` + strings.Repeat(`{"a":`, 50_000) + "1" + strings.Repeat("}", 50_000) + `}`,
		"a number":  `{"task":"a","list":[1e999999999]}`,
	} {
		for _, s := range surfaces {
			if s.name == "command line" {
				continue // the system bounds what a command line holds
			}
			if v := s.call(t, "note", args); v.OK || v.Code != "input_invalid" && v.Code != protocolError {
				t.Errorf("%s with %s = %s %.200s, want it refused", s.name, name, v.Code, v.Text)
			}
		}
	}
	for _, s := range surfaces {
		if v := s.call(t, "note", `{"task":"a"}`); !v.OK {
			t.Errorf("%s after that = %+v, want an answer", s.name, v)
		}
	}
}

// The server cuts off a message without an end and answers the next one.
func TestDoS_MessagesWithoutEnd(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	s := serveHTTP(t, dir)
	long := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"` + strings.Repeat("x", 10<<20) + `"}}}`
	for _, path := range []string{"/mcp", "/v1/actions/read_file/execute"} {
		if status, text := s.request(t, "POST", path, long, s.headers()); status != 413 {
			t.Errorf("POST %s of 10 MiB = %d %.200s, want 413", path, status, text)
		}
	}
	line := newStdioLine(t, dir, "2025-11-25")
	if text := line.exchange(t, long); !strings.Contains(text, `"error"`) {
		t.Errorf("a line of 10 MiB = %.200s, want an error", text)
	}
	if v := line.call(t, "read_file", `{"path":"README.md"}`); !v.OK {
		t.Errorf("the call after that = %+v, want an answer", v)
	}
	if v := s.overAPI(t, "application/json", "read_file", `{"path":"README.md"}`); !v.OK {
		t.Errorf("the call after that = %+v, want an answer", v)
	}
	s.stop(t)
}

// An upstream sends small compressed answers that unpack to large ones, to many
// calls at once. The memory of the server must stay bounded.
func TestDoS_CompressedAnswers(t *testing.T) {
	t.Parallel()
	var member bytes.Buffer // of an archive: 1 MiB of zeros
	z := gzip.NewWriter(&member)
	if _, err := z.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		for range 1024 {
			if _, err := w.Write(member.Bytes()); err != nil {
				return // the reader has closed the stream: it has enough
			}
		}
	}))
	t.Cleanup(bomb.Close)
	host := strings.TrimPrefix(bomb.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  ops: {toolset: [bomb, fetch_url], safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}}
principals: {local: {permissions: ["http:read"], personalities: [ops]}}
actions: [{id: bomb, handler: {http: {url: "`+bomb.URL+`/"}}}]
`)
	s := serveHTTP(t, dir)
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			if v := s.overAPI(t, "application/json", "bomb", `{}`); v.OK {
				t.Errorf("the answer = %.200s, want a refusal", v.Text)
			}
		})
		running.Go(func() { s.overAPI(t, "application/json", "fetch_url", `{"url":"`+bomb.URL+`/"}`) })
	}
	running.Wait()
	most := 512
	if os.Getenv(raceChildren) == "1" {
		most *= 4 // the race detector's shadow memory
	}
	if mb := peakMB(t, s.cmd.Process.Pid); mb > most {
		t.Errorf("the server held %d MB, want at most %d", mb, most)
	}
	s.stop(t)
}

// peakMB returns VmHWM of a process, in MB.
func peakMB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MB at most", kb/1024)
	return kb / 1024
}

// Schemas of a server may refer to other addresses or to themselves without
// end. They affect their own tool at most, and nothing is fetched.
func TestDoS_SchemasOfServers(t *testing.T) {
	t.Parallel()
	var fetched sync.Map
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mcp" {
			fetched.Store(r.URL.Path, true)
		}
		var q struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&q) != nil || q.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch q.Method {
		case "initialize", "tools/call":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, echoAnswers[q.Method])
		case "tools/list":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[`, q.ID)
			for i, schema := range bombs("http://" + r.Host) {
				fmt.Fprintf(w, `{"name":"bomb%d","inputSchema":%s},`, i, schema)
			}
			_, _ = io.WriteString(w, `{"name":"echo","inputSchema":{"type":"object"}}]}}`)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, q.ID)
		}
	}))
	t.Cleanup(far.Close)
	host := strings.TrimPrefix(far.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
mcp_servers: {far: {url: "`+far.URL+`/mcp"}}
personalities:
  ops: {toolset: [], mcp_servers: [far], safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}}
`)
	s := serveHTTP(t, dir)
	for i := range bombs("") {
		// The tool may be left out or be harmless: the call is answered either
		// way.
		s.overAPI(t, "application/json", fmt.Sprintf("mcp__far__bomb%d", i), `{"a":"`+strings.Repeat("a", 5000)+`!","b":[[[[1]]]]}`)
	}
	if v := s.overAPI(t, "application/json", "mcp__far__echo", `{}`); !v.OK {
		t.Errorf("the tool beside them = %+v, want an answer", v)
	}
	s.stop(t)
	fetched.Range(func(path, _ any) bool {
		t.Errorf("a schema had %v fetched", path)
		return true
	})
}

// bombs returns schemas that are expensive to follow.
func bombs(base string) []string {
	many := make([]string, 1000)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"string","pattern":"^(a|a?)+$"}`, i)
	}
	double := `{"type":"string"}`
	for range 11 {
		double = `{"anyOf":[` + double + `,` + double + `]}`
	}
	return []string{
		`{"type":"object","properties":{"a":{"$ref":"` + base + `/schema.json"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`,
		`{"type":"object","$schema":"` + base + `/meta.json"}`,
		`{"type":"object","$ref":"#"}`,
		`{"type":"object","properties":{"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}]}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}`,
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=a)(a+)\\1$"}}}`,
		`{"type":"object","properties":{` + strings.Join(many, ",") + `}}`,
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"not":`, 900) + `{}` + strings.Repeat(`}`, 900) + `}}`,
		`{"type":"object","properties":{"a":` + double + `}}`,
	}
}

// An attacker has the state file but not the key. Each change of the record
// must be found: a tail cut off, two records exchanged, one copied, one forged.
func TestAudit_TamperedRecords(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(frames [][]byte) [][]byte{
		"the tail cut off": func(f [][]byte) [][]byte { return f[:len(f)-2] },
		"two exchanged": func(f [][]byte) [][]byte {
			f[2], f[3] = f[3], f[2]
			return f
		},
		"one copied": func(f [][]byte) [][]byte {
			f[3] = f[1]
			return f
		},
		"one removed": func(f [][]byte) [][]byte { return slices.Delete(f, 2, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			for range 3 {
				runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
			}
			head := strings.TrimSpace(runSallyport(t, dir, "audit", "head"))
			runSallyport(t, dir, "audit", "verify", "--head", head)
			editSegment(t, dir, func(segment []byte) []byte {
				records, rest := splitRecords(segment)
				if len(records) < 6 {
					t.Fatalf("%d records, want two for each call", len(records))
				}
				return append(rest, bytes.Join(edit(records), nil)...)
			})
			out, err := sallyportCommand(dir, "audit", "verify", "--head", head).CombinedOutput()
			if err == nil {
				t.Errorf("audit verify = %s, want it to fail", out)
			}
		})
	}
}
