package otlp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	logs "go.opentelemetry.io/proto/slim/otlp/collector/logs/v1"

	"github.com/sallyport/sallyport/internal/tracing"
)

// readLogs is a collector that reads what it gets with the official definitions.
func readLogs(t *testing.T, got *logs.ExportLogsServiceRequest, answer http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" || proto.Unmarshal(body, got) != nil {
			t.Errorf("the collector cannot read %s %s", r.URL.Path, r.Header.Get("Content-Type"))
		}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return newClient(server.URL)
}

// The official definitions read the same records, also where a text has what no line may.
func TestLogsAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	var q logs.ExportLogsServiceRequest
	rejected, err := readLogs(t, &q, status(200)).SendLogs(t.Context(), &Source{"v1", "i"}, []Log{
		{Time: time.Unix(1, 5), Severity: 13, Level: "warning", Event: "e", Body: "a\nb\x00\x1b[2J\xff", Attrs: []tracing.Attr{{Key: "k", Text: "v\r\n\xfe"}, {Key: "n", Number: 7}}},
		{Severity: 9},
	})
	if err != nil || rejected != 0 {
		t.Fatalf("%d rejected, %v", rejected, err)
	}
	resource := q.ResourceLogs[0]
	list := resource.ScopeLogs[0].LogRecords
	if len(list) != 2 || resource.SchemaUrl != tracing.SchemaURL || resource.ScopeLogs[0].Scope.Name != tracing.ScopeName || resource.Resource.Attributes[0].Value.GetStringValue() != tracing.ServiceName {
		t.Fatalf("the request is read as %v", &q)
	}
	l := list[0]
	got := []any{l.TimeUnixNano, l.ObservedTimeUnixNano, int32(l.SeverityNumber), l.SeverityText, l.EventName, l.Body.GetStringValue(), l.Attributes[0].Key, l.Attributes[0].Value.GetStringValue(), l.Attributes[1].Value.GetIntValue()}
	if diff := cmp.Diff([]any{uint64(1e9 + 5), uint64(1e9 + 5), int32(13), "warning", "e", "a\nb\x00\x1b[2J\uFFFD", "k", "v\r\n\uFFFD", int64(7)}, got); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	if l := list[1]; l.Body.GetStringValue() != "" || l.TimeUnixNano != 0 || l.SeverityNumber != 9 {
		t.Errorf("the empty record is read as %v", l)
	}
}

// What a collector did with records is known, or an error.
func TestAnAnswerAboutLogsIsReadToItsEnd(t *testing.T) {
	t.Parallel()
	say := func(n int64) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			text, _ := proto.Marshal(&logs.ExportLogsServiceResponse{PartialSuccess: &logs.ExportLogsPartialSuccess{RejectedLogRecords: n, ErrorMessage: "no"}})
			_, _ = w.Write(text)
		}
	}
	for name, tt := range map[string]struct {
		do       http.HandlerFunc
		rejected int
		err      string
	}{
		"rejects one": {do: say(1), rejected: 1}, "rejects more than there are": {do: say(1 << 40), rejected: 2}, "rejects less than nothing": {do: say(-5)},
		"warns": {do: say(0)}, "answers what is no message": {do: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }},
		"answers without end": {do: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }},
		"breaks off": {do: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "9")
			_, _ = w.Write([]byte("x"))
		}, err: "the answer ended early"},
		"refuses": {do: status(403), err: "the collector answered 403"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var q logs.ExportLogsServiceRequest
			rejected, err := readLogs(t, &q, tt.do).SendLogs(t.Context(), &Source{}, make([]Log, 2))
			if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err || rejected != tt.rejected {
				t.Errorf("%d rejected, %v, want %d, %q", rejected, err, tt.rejected, tt.err)
			}
		})
	}
}
