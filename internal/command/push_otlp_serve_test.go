package command

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	logs "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"
	logrecord "go.opentelemetry.io/proto/slim/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport/sallyport/internal/app"
)

// A server hands its record to a collector of OpenTelemetry, with the secret of a header and
// without saying it, nor what is in the path of the address.
func TestServePushesTheRecordAsLogs(t *testing.T) {
	t.Parallel()
	dir, metricsAt := folder(t), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	var mu sync.Mutex
	var got []*logrecord.LogRecord
	taking, tokens := false, map[string]int{}
	collector := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var q logs.ExportLogsServiceRequest
		if err := proto.Unmarshal(body, &q); err != nil || r.URL.Path != "/hunter1/v1/logs" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		mu.Lock()
		defer mu.Unlock()
		tokens[r.Header.Get("X-Token")]++
		if !taking {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("hunter2 is no token"))
			return
		}
		for _, resource := range q.ResourceLogs {
			got = append(got, resource.ScopeLogs[0].LogRecords...)
		}
	}))
	defer collector.Close()
	place(t, dir, app.ConfigName, regexp.MustCompile(`(?m)^secrets:.*$`).ReplaceAllString(configText(t, dir), "secrets: [{dir: ./secrets}]")+fmt.Sprintf("audit: {push: [{otlp: {url: %q, headers: {X-Token: {secret: token, prefix: \"Bearer \"}}}}], format: jsonl, ca: ca.pem}\nmetrics: {listen: %q}\n", collector.URL+"/hunter1", metricsAt))
	if err := os.Mkdir(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, _ := sallyportCommand(dir, "check").CombinedOutput(); !strings.Contains(string(out), "push of the record") {
		t.Errorf("check does not say what lacks the secret:\n%s", out)
	}
	place(t, filepath.Join(dir, "secrets"), "token", "hunter2-hunter2")
	// No authority of the system knows the collector.
	place(t, dir, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: collector.Certificate().Raw})))
	place(t, dir, "notes.txt", "text")
	s := serveHTTP(t, dir)
	for _, path := range []string{"notes.txt", "/etc/shadow"} { // no call waits for what the collector says
		_, _ = s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"`+path+`"}}`, s.headers())
	}
	if text := getText(t, "http://"+metricsAt+"/metrics"); !strings.Contains(text, `sallyport_export_records_lost_total{exporter="`+collector.URL+`"} 0`) || strings.Contains(text, "hunter") {
		t.Error("the metrics do not name the collector, or more")
	}
	s.stop(t)
	if said := s.stderr.String(); !strings.Contains(said, "the record is not sent to its end") || strings.Contains(said, "hunter") {
		t.Errorf("with a collector that refuses, the server says\n%s", said)
	}
	mu.Lock()
	taking = true
	mu.Unlock()
	s = serveHTTP(t, dir)
	s.stop(t) // at its end it sends what is left
	if len(got) != 4 || tokens["Bearer hunter2-hunter2"] == 0 || len(tokens) != 1 {
		t.Fatalf("the collector got %d records, want 4, with the headers %v\n%s", len(got), tokens, s.stderr.String())
	}
	export := runSallyport(t, dir, "audit", "export")
	for i, l := range got {
		attrs := map[string]string{}
		for _, a := range l.Attributes {
			attrs[a.Key] = a.Value.GetStringValue()
		}
		if attrs["gen_ai.tool.name"] != "read_file" || attrs["sallyport.surface"] != "http" || len(attrs["sallyport.record.hash"]) != 64 || l.Attributes[0].Key != "sallyport.record.seq" || l.Attributes[0].Value.GetIntValue() != int64(i+1) {
			t.Errorf("record %d has the attributes %v", i+1, attrs)
		}
		if !strings.Contains(export, l.Body.GetStringValue()+"\n") {
			t.Errorf("record %d is not a line of the export: %s", i+1, l.Body.GetStringValue())
		}
	}
	if last := got[3]; last.EventName != "sallyport.record.outcome" || last.SeverityText == "informational" {
		t.Errorf("the refused call is read as %v", last)
	}
}
