package command

import (
	"bufio"
	"encoding/hex"
	"io"
	"strings"
	"testing"
)

// TestTracesOverStdio names a trace in _meta over stdio, which the mounted server is not
// told.
func TestTracesOverStdio(t *testing.T) {
	t.Parallel()
	c := newReceiver(t)
	far, heard := farEcho(t)
	dir := tracedFolder(t, `telemetry: {pass_context: false, otlp: {url: "`+c.url+`", headers: {X-Token: {secret: token, prefix: "Bearer "}}, metrics: 0s}}`, far)
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
	call := strings.Replace(message("2026-07-28", false, "mcp__far__echo", `{}`), `"_meta":{`, `"_meta":{"traceparent":"`+ofClient+`",`, 1)
	if _, err := io.WriteString(in, call+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(answer, "the result") {
		t.Fatalf("the call answered %s, %v", answer, err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if len(c.spans) == 0 {
		t.Fatal("the collector received nothing")
	}
	for _, s := range c.normalize(t) {
		if s.Kind == "SPAN_KIND_SERVER" && (s.Attributes["network.transport"] != "pipe" || s.Attributes["mcp.protocol.version"] != "2026-07-28" || !s.Remote) {
			t.Errorf("the call is told as %v", s)
		}
	}
	if got := hex.EncodeToString(c.spans[0].TraceId); !strings.Contains(ofClient, got) {
		t.Errorf("the call is in the trace %s, want that of the client", got)
	}
	if strings.Contains(heard.inMeta[0]+heard.header[0], "00-") {
		t.Errorf("with pass_context: false the mounted server was told %q %q", heard.inMeta, heard.header)
	}
}

// A collector that is away changes nothing for calls and for the end of the server, and a
// bad address is found by check with its place.
func TestACollectorThatIsAwayChangesNothing(t *testing.T) {
	t.Parallel()
	far, _ := farEcho(t)
	dir := tracedFolder(t, `telemetry: {otlp: {url: "http://127.0.0.1:9", headers: {X-Token: {secret: token}}}}`, far)
	s := serveHTTP(t, dir)
	if status, text := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"a.txt"}}`, s.headers("Accept", "application/json")); status != 200 {
		t.Errorf("the call = %d %s", status, text)
	}
	s.stop(t)
	if log := s.stderr.String(); !strings.Contains(log, "spans were dropped") || strings.Contains(log, "collector-token") {
		t.Errorf("the log says:\n%s", log)
	}
	place(t, dir, "sallyport.yaml", "version: 2\ntelemetry: {otlp: {url: \"http://otel.example.com\"}}\n")
	out, err := sallyportCommand(dir, "check").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sallyport.yaml:2:25: telemetry.otlp.url: expected https") {
		t.Errorf("check = %v\n%s", err, out)
	}
}
