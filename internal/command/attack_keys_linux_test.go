package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/internal/needs"
)

// recorder is an upstream that remembers the request bodies.
type recorder struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		r.bodies = append(r.bodies, string(body))
		r.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"noted":true}`)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.bodies...)
}

// noteFolder creates a folder with one action, whose arguments go to an
// upstream.
func noteFolder(t *testing.T, r *recorder) string {
	t.Helper()
	host := strings.TrimPrefix(r.URL, "http://")
	return configured(t, fmt.Sprintf(`version: 1
state: sqlite:.sallyport/state.db
personalities:
  ops: {toolset: [note], safety: {network: {allow: [%q], allow_private_urls: true}}}
actions:
  - id: note
    parameters:
      type: object
      properties:
        task: {type: string}
        kind: {type: string}
        inner: {type: object}
        list: {type: array}
      required: [task]
    handler: {http: {method: POST, url: %q, body: {task: "{task}", inner: "{inner}", list: "{list}"}}}
`, host, r.URL+"/"))
}

// Two programs that parse one document differently check one value and use
// another. Every surface refuses a key in another case, with a letter that
// folds to it, or given twice, at any depth.
func TestCVE_2026_27896_CaseFoldedKeys(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	upstream := newRecorder(t)
	dir := noteFolder(t, upstream)
	surfaces := surfacesOf(t, dir)
	for _, args := range []string{
		`{"task":"a","Task":"b"}`, `{"TASK":"b"}`, `{"task":"a","ta\u017fk":"b"}`, `{"ta` + "\u017f" + `k":"b"}`, `{"tas` + "\u212a" + `":"b"}`,
		`{"task":"a","tas\u212a":"b"}`, `{"task":"a","task":"b"}`, `{"task":"a","t\u0061sk":"b"}`, `{"task":"a","inner":{"a":1,"a":2}}`,
		`{"task":"a","inner":{"a":{"b":{"c":1,"\u0063":2}}}}`, `{"task":"a","list":[1,{"a":1,"a":2}]}`, `{"task":"a","":1,"":2}`,
	} {
		for _, s := range surfaces {
			if v := s.call(t, "note", args); v.OK || v.Code != "input_invalid" {
				t.Errorf("%s with %s = %+v, want input_invalid", s.name, args, v)
			}
		}
	}
	if seen := upstream.seen(); len(seen) != 0 {
		t.Errorf("the upstream was sent %q, want nothing", seen)
	}
}

// The same checks apply to the message around the arguments.
func TestCVE_2026_27896_CaseFoldedEnvelopes(t *testing.T) {
	t.Parallel()
	upstream := newRecorder(t)
	dir := noteFolder(t, upstream)
	s := serveHTTP(t, dir)
	const call = `"name":"note","arguments":{"task":"a"}`
	bodies := []string{
		`"method":"tools/list","method":"tools/call","params":{` + call + `}`,
		`"method":"tools/call","method":"tools/list","params":{` + call + `}`,
		`"Method":"tools/call","params":{` + call + `}`,
		`"method":"tools/call","Params":{` + call + `}`,
		`"method":"tools/call","param\u017f":{` + call + `}`,
		`"method":"tools/call","params":{},"params":{` + call + `}`,
		`"method":"tools/call","params":{` + call + `,"name":"other"}`,
		`"method":"tools/call","params":{"name":"other",` + call + `}`,
		`"method":"tools/call","params":{"Name":"note","arguments":{"task":"a"}}`,
		`"method":"tools/call","params":{` + call + `,"arguments":{"task":"b"}}`,
		`"method":"tools/call","params":{"name":"note","Arguments":{"task":"a"}}`,
	}
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		session := s.greet(t, version)
		line := newStdioLine(t, dir, version)
		for _, body := range bodies {
			if version == "2026-07-28" {
				body = strings.NewReplacer(`"params":{"`, `"params":{`+statelessMeta+`,"`, `"Params":{"`, `"Params":{`+statelessMeta+`,"`).Replace(body)
			}
			body = `{"jsonrpc":"2.0","id":1,` + body + `}`
			h := s.headers("Mcp-Protocol-Version", version, "Mcp-Session-Id", session, "Mcp-Method", "tools/call", "Mcp-Name", "note")
			_, text := s.request(t, "POST", "/mcp", body, h)
			for where, text := range map[string]string{"HTTP": text, "stdio": line.exchange(t, body)} {
				if !strings.Contains(text, `"error"`) && !strings.Contains(text, `"isError":true`) {
					t.Errorf("%s %s: %s = %s, want an error", where, version, body, text)
				}
			}
		}
	}
	for _, body := range []string{
		`{"params":{"task":"a"},"params":{"task":"b"}}`, `{"params":{"task":"a"},"Params":{"task":"b"}}`, `{"PARAMS":{"task":"a"}}`, `{"param\u017f":{"task":"a"}}`,
	} {
		if status, text := s.request(t, "POST", "/v1/actions/note/execute", body, s.headers()); status != 400 {
			t.Errorf("execute %s = %d %s, want 400", body, status, text)
		}
	}
	for _, line := range []string{
		`{"id":"1","tool":"note","Tool":"other","args":{"task":"a"}}`, `{"id":"1","tool":"other","tool":"note","args":{"task":"a"}}`,
		`{"id":"1","tool":"note","args":{},"args":{"task":"a"}}`, `{"id":"1","tool":"note","Args":{"task":"a"}}`,
	} {
		cmd := sallyportCommand(dir, "batch")
		cmd.Stdin = strings.NewReader(line)
		if text := printed(t, cmd); !strings.Contains(string(text), `"input_invalid"`) {
			t.Errorf("batch %s = %s, want input_invalid", line, text)
		}
	}
	s.stop(t)
	if seen := upstream.seen(); len(seen) != 0 {
		t.Errorf("the upstream was sent %q, want nothing", seen)
	}
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// The forwarded value is the one that was decided and recorded, whatever its
// spelling was.
func TestCVE_2026_27896_ForwardedIsWhatWasDecided(t *testing.T) {
	t.Parallel()
	upstream := newRecorder(t)
	dir := noteFolder(t, upstream)
	surfaces := surfacesOf(t, dir)
	const args = `{ "inner":{"z":1.50e1,"a":"\u0061\/" } ,"list":[ 1e2, {"k":null}],"t\u0061sk":"\u0062 \"q\"" }`
	for _, s := range surfaces {
		if v := s.call(t, "note", args); !v.OK {
			t.Errorf("%s = %+v, want it made", s.name, v)
		}
	}
	var decided []any
	for _, r := range records(t, dir) {
		if r.Kind == "outcome" {
			decided = append(decided, parsed(t, r.Args))
		}
	}
	var forwarded []any
	for _, body := range upstream.seen() {
		forwarded = append(forwarded, parsed(t, body))
	}
	if diff := cmp.Diff(decided, forwarded); diff != "" || len(decided) != len(surfaces) {
		t.Errorf("%d calls were decided; what was forwarded differs:\n%s", len(decided), diff)
	}
}

func parsed(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
