package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// TestMetricsAreSent makes a call, and a collector is sent the count of it at the end, the
// same as a scrape shows.
func TestMetricsAreSent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	counts := map[string]float64{}
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/metrics" {
			return
		}
		var q collector.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &q); err != nil {
			t.Errorf("the metrics cannot be read: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, m := range q.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			for _, p := range m.GetSum().GetDataPoints() {
				counts[m.Name] += p.GetAsDouble()
			}
		}
	}))
	defer sink.Close()
	far, _ := farEcho(t)
	s := serveHTTP(t, tracedFolder(t, `telemetry: {otlp: {url: "`+sink.URL+`"}}`, far))
	for range 3 {
		s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"a.txt"}}`, s.headers("Accept", "application/json"))
	}
	s.stop(t)
	if counts["sallyport_calls_total"] != 3 {
		t.Errorf("the collector was sent %v, want 3 calls", counts)
	}
}
