package command

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is a collector that keeps the spans that it is sent, as the official
// definitions read them.
type receiver struct {
	url string

	mu       sync.Mutex
	raw      []byte // everything that it was sent
	resource []*trace.ResourceSpans
	spans    []*trace.Span
	faults   []string
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	c := &receiver{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var q collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &q)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw = append(c.raw, body...)
		c.resource = append(c.resource, q.ResourceSpans...)
		for _, rs := range q.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" || r.Header.Get("X-Token") != "Bearer collector-token" || len(q.ProtoReflect().GetUnknown()) > 0 {
			c.faults = append(c.faults, fmt.Sprintf("%s %v %v", r.URL.Path, r.Header, err))
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// normal is a span without what differs between two runs.
type normal struct {
	Name, Kind string
	Trace      string
	Span       string
	Parent     string            `json:",omitempty"`
	State      string            `json:",omitempty"`
	Links      []string          `json:",omitempty"`
	Remote     bool              `json:",omitempty"`
	Failed     bool              `json:",omitempty"`
	Attributes map[string]string `json:",omitempty"`
}

// normalize returns the spans by the time of their start, with the ids in the order in
// which they come.
func (c *receiver) normalize(t *testing.T) (list []normal) {
	t.Helper()
	slices.SortStableFunc(c.spans, func(a, b *trace.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
	known := map[string]string{}
	id := func(kind string, b []byte) string {
		text := hex.EncodeToString(b)
		if known[text] == "" && len(b) > 0 {
			known[text] = fmt.Sprintf("%s%d", kind, len(known))
		}
		return known[text]
	}
	for _, s := range c.spans {
		if s.EndTimeUnixNano < s.StartTimeUnixNano || len(s.TraceId) != 16 || len(s.SpanId) != 8 || s.Flags&0x101 != 0x101 {
			t.Errorf("%v is not a span", s)
		}
		n := normal{
			Name: s.Name, Kind: s.Kind.String(), Trace: id("trace", s.TraceId), Span: id("span", s.SpanId), Parent: id("span", s.ParentSpanId), State: s.TraceState,
			Remote: s.Flags&0x200 != 0, Failed: s.GetStatus().GetCode() == trace.Status_STATUS_CODE_ERROR, Attributes: map[string]string{},
		}
		for _, l := range s.Links {
			n.Links = append(n.Links, hex.EncodeToString(l.TraceId)+" "+hex.EncodeToString(l.SpanId))
		}
		for _, a := range s.Attributes {
			n.Attributes[a.Key] = normalText(a.Key, a.Value)
		}
		list = append(list, n)
	}
	return list
}

// normalText returns the value of an attribute without what differs between two runs.
func normalText(key string, v *common.AnyValue) string {
	text := v.GetStringValue()
	if _, ok := v.Value.(*common.AnyValue_IntValue); ok {
		text = fmt.Sprint(v.GetIntValue())
	}
	switch {
	case key == "server.port":
		return "PORT"
	case key == "sallyport.child.level":
		return "LEVEL" // as this machine has it
	case key == "sallyport.upstream.trace":
		return "TRACE"
	case regexp.MustCompile(`^[0-9a-z]{24}$`).MatchString(text):
		return "CALL"
	case key == "mcp.session.id", key == "gen_ai.conversation.id" && len(text) > 20:
		return "SESSION"
	}
	return text
}

// compareWith compares what arrived with a file.
func (c *receiver) compareWith(t *testing.T, golden string) {
	t.Helper()
	got, err := json.MarshalIndent(c.normalize(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("what the collector received (-want +got):\n%s", diff)
	}
}

// heard is what an upstream server is told of traces.
type heard struct {
	mu             sync.Mutex
	header, inMeta []string
}

// farEcho is an MCP server on this machine that notes what it hears.
func farEcho(t testing.TB) (url string, h *heard) {
	t.Helper()
	far := mcp.NewServer(&mcp.Implementation{Name: "far"}, nil)
	h = &heard{}
	mcp.AddTool(far, &mcp.Tool{Name: "echo"}, func(_ context.Context, q *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.inMeta = append(h.inMeta, fmt.Sprint(q.Params.Meta["traceparent"], q.Params.Meta["tracestate"]))
		h.header = append(h.header, q.Extra.Header.Get("Traceparent")+q.Extra.Header.Get("Tracestate"))
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the result"}}}, nil, nil
	})
	server := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return far }, nil))
	t.Cleanup(server.Close)
	return server.URL, h
}

// tracedFolder is the folder of a server whose calls are sent to a collector.
func tracedFolder(t testing.TB, telemetry, far string) string {
	t.Helper()
	dir := configured(t, `version: 2
secrets: [{dir: ./secrets}]
log: {level: info}
`+telemetry+`
mcp_servers: {far: {url: "`+far+`"}}
personalities:
  ops:
    toolset: [read_file, write_file]
    mcp_servers: [far]
    fs_reach: {read: ["${workspace}"], write: ["${workspace}"]}
    approvals: {require: [write_file], wait: 1s}
    safety: {network: {allow: ["`+strings.TrimPrefix(far, "http://")+`"], allow_private_urls: true}}
`)
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, filepath.Join(dir, "secrets"), "token", "collector-token")
	place(t, dir, "a.txt", "the content of a file")
	return dir
}

const (
	ofClient = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ofHeader = "00-11111111111111111111111111111111-2222222222222222-01"
)

// TestTraces makes a call that is allowed, one that is refused, one that is held, one of a
// mounted server and one of a tool that an agent made up, and compares what a collector
// receives with testdata/traces.json.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newReceiver(t)
	far, heard := farEcho(t)
	dir := tracedFolder(t, `telemetry: {otlp: {url: "`+c.url+`", headers: {X-Token: {secret: token, prefix: "Bearer "}}, metrics: 0s}}`, far)
	s := serveHTTP(t, dir)
	execute := func(tool, params string, status int, header ...string) {
		t.Helper()
		got, text := s.request(t, "POST", "/v1/actions/"+tool+"/execute", `{"params":`+params+`,"session":"s1"}`, s.headers(append(header, "Accept", "application/json")...))
		if got != status {
			t.Errorf("%s = %d %s, want %d", tool, got, text, status)
		}
	}
	execute("read_file", `{"path":"a.txt"}`, 200, "Traceparent", ofClient, "Tracestate", "rojo=1,congo=2")
	execute("read_file", `{"path":"/etc/argument"}`, 502, "Traceparent", "00-not-a-trace")
	execute("write_file", `{"path":"b.txt","content":"an argument"}`, 409)
	execute("made_up_argument", `{}`, 404)
	const version = "2025-11-25"
	session := s.greet(t, version)
	call := strings.Replace(message(version, false, "mcp__far__echo", `{}`), `"_meta":{`, `"_meta":{"traceparent":"`+ofClient+`","tracestate":"rojo=1"`, 1)
	if _, text := s.request(t, "POST", "/mcp", call, s.headers("Mcp-Protocol-Version", version, "Mcp-Session-Id", session, "Traceparent", ofHeader)); !strings.Contains(text, "the result") {
		t.Errorf("the mounted server answered %s", text)
	}
	s.stop(t) // what waits is sent

	for _, fault := range c.faults {
		t.Errorf("a request of another form: %s", fault)
	}
	for _, secret := range []string{"argument", "the content", "the result", "collector-token", "a.txt", "b.txt"} {
		if bytes.Contains(c.raw, []byte(secret)) {
			t.Errorf("the collector was told %q", secret)
		}
	}
	c.compareWith(t, "testdata/traces.json")
	mounted := c.spans[len(c.spans)-2]
	told := mounted.Attributes[slices.IndexFunc(mounted.Attributes, func(a *common.KeyValue) bool { return a.Key == "sallyport.upstream.trace" })].Value.GetStringValue()
	passed := fmt.Sprintf("00-%s-%x-01", told, mounted.SpanId)
	if strings.Contains(ofClient, told) {
		t.Errorf("the mounted server was told the trace of the client, %s", told)
	}
	if len(heard.inMeta) != 1 || heard.inMeta[0] != passed+"<nil>" || len(heard.header) != 1 || heard.header[0] != passed {
		t.Errorf("the mounted server was told %q and %q, want %q and no state", heard.inMeta, heard.header, passed)
	}
	if log := s.stderr.String(); !strings.Contains(log, "trace=4bf92f3577b34da6a3ce929d0e0e4736") {
		t.Errorf("no line of the log names the trace:\n%s", log)
	}
}
