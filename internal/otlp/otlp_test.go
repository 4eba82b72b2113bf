package otlp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/google/go-cmp/cmp"
	metrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"

	"github.com/sallyport/sallyport/internal/tracing"
)

// noHeader sends no headers of its own.
func noHeader(context.Context) (http.Header, error) { return http.Header{}, nil }

// newClient returns a client that waits between two tries as good as not at all.
func newClient(url string) *Client {
	c := NewClient(url, noHeader, (&net.Dialer{}).DialContext, nil)
	c.pause = time.Millisecond
	return c
}

// makeCall makes a call with a span below it, and gives it to an exporter.
func makeCall(t testing.TB, e *Exporter) {
	t.Helper()
	ctx := tracing.NewTracer(1, true, e.AddCall).BeginCall(t.Context())
	_, s := tracing.StartSpan(ctx, "below", tracing.KindClient)
	s.SetNumber(tracing.KeyHTTPStatus, 200)
	s.EndSpan()
	tracing.CallOf(ctx).EndCall()
}

// closeSoon ends an exporter that has nothing to wait for long.
func closeSoon(t testing.TB, e *Exporter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
	defer cancel()
	e.Close(ctx)
}

// answer is what a collector does with the requests that it gets, in turn; the last one
// is repeated.
func answer(t testing.TB, handlers ...http.HandlerFunc) (url string, asked func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := handlers[min(n, len(handlers)-1)]
		n++
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		h(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() int { mu.Lock(); defer mu.Unlock(); return n }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// What becomes of spans is counted, whatever the collector does.
func TestSpansAreSentOrCounted(t *testing.T) {
	rejects, err := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "no"}})
	if err != nil {
		t.Fatal(err)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, tt := range map[string]struct {
		url               string
		do                []http.HandlerFunc
		sent, lost, asked int
	}{
		"taken":             {do: []http.HandlerFunc{status(200)}, sent: 2, asked: 1},
		"busy for a moment": {do: []http.HandlerFunc{status(503), status(429), status(200)}, sent: 2, asked: 3},
		"busy":              {do: []http.HandlerFunc{status(503)}, lost: 2, asked: maxTries},
		"refused":           {do: []http.HandlerFunc{status(401)}, lost: 2, asked: 1},
		"leads elsewhere": {do: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
		}}, lost: 2, asked: 1},
		"rejects one":         {do: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(rejects) }}, sent: 1, lost: 1, asked: 1},
		"is away":             {url: gone.URL, do: []http.HandlerFunc{status(200)}, lost: 2},
		"answers without end": {do: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1<<20)) }}, sent: 2, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			url, asked := answer(t, tt.do...)
			if tt.url != "" {
				url = tt.url
			}
			var log bytes.Buffer
			e := NewExporter(&Options{Client: newClient(url), Logger: slog.New(slog.NewTextHandler(&log, nil))})
			makeCall(t, e)
			closeSoon(t, e)
			sent, lost := e.CountSpans()
			if int(sent) != tt.sent || int(lost) != tt.lost || asked() != tt.asked {
				t.Errorf("%d sent, %d lost in %d requests, want %d, %d, %d", sent, lost, asked(), tt.sent, tt.lost, tt.asked)
			}
			if said := strings.Contains(log.String(), "spans were dropped"); said != (tt.lost > 0) {
				t.Errorf("%d lost spans, and the log says %q", tt.lost, log.String())
			}
		})
	}
}

// A collector that takes a connection and never answers holds up no call, and what waits
// for it is bounded.
func TestADeadCollectorHoldsUpNothing(t *testing.T) {
	began := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case began <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	}))
	defer server.Close()
	e := NewExporter(&Options{Client: newClient(server.URL), Logger: slog.New(slog.DiscardHandler)})
	for range maxBatch {
		makeCall(t, e)
	}
	<-began // what follows waits behind that request
	const calls = maxWaiting
	for range calls {
		makeCall(t, e)
	}
	if waiting := e.waiting.countSpans(); waiting > maxWaiting {
		t.Errorf("%d spans wait, want at most %d", waiting, maxWaiting)
	}
	if _, lost := e.CountSpans(); lost < calls {
		t.Errorf("%d spans of %d are counted as lost, want at least %d", lost, 2*calls, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e.Close(ctx)
	if sent, lost := e.CountSpans(); sent != 0 || lost != 2*(maxBatch+calls) {
		t.Errorf("%d sent, %d lost at the end, want 0 and %d", sent, lost, 2*(maxBatch+calls))
	}
}

// A secret that cannot be read sends nothing, and no message without it.
func TestNothingIsSentWithoutItsHeaders(t *testing.T) {
	url, asked := answer(t, status(200))
	c := newClient(url)
	c.header = func(context.Context) (http.Header, error) { return nil, errors.New("the secret is not set") }
	if _, err := c.sendUntilTaken(t.Context(), pathTraces, nil); err == nil || asked() != 0 {
		t.Errorf("sent %d requests, error %v", asked(), err)
	}
}

// The official definitions read the same metrics.
func TestMetricsAreReadAsTheyWere(t *testing.T) {
	from := Source{"v1", "i"}
	message := from.appendFamilies(nil, []Family{
		{Name: "a", Help: "A.", Kind: Counter, Points: []Point{{Labels: [][2]string{{"tool", "x"}, {"step", ""}}, Value: 3}}},
		{Name: "b", Kind: Gauge, Points: []Point{{Value: -1.5}}},
		{Name: "c", Kind: Histogram, Points: []Point{{Value: 9, Bounds: []float64{1, 2}, Counts: []uint64{4, 0, 300}}}},
	}, time.Unix(1, 0), time.Unix(2, 0))
	var q metrics.ExportMetricsServiceRequest
	if err := proto.Unmarshal(message, &q); err != nil {
		t.Fatal(err)
	}
	list := q.ResourceMetrics[0].ScopeMetrics[0].Metrics
	sum, gauge, histogram := list[0].GetSum(), list[1].GetGauge(), list[2].GetHistogram()
	if p := sum.GetDataPoints()[0]; list[0].Name != "a" || list[0].Description != "A." || !sum.IsMonotonic || sum.AggregationTemporality != 2 ||
		p.GetAsDouble() != 3 || p.StartTimeUnixNano != 1e9 || p.TimeUnixNano != 2e9 || len(p.Attributes) != 1 || p.Attributes[0].Value.GetStringValue() != "x" {
		t.Errorf("the counter is read as %v", list[0])
	}
	if p := gauge.GetDataPoints()[0]; p.GetAsDouble() != -1.5 {
		t.Errorf("the gauge is read as %v", list[1])
	}
	p := histogram.GetDataPoints()[0]
	if diff := cmp.Diff([]any{[]float64{1, 2}, []uint64{4, 0, 300}, uint64(304), 9.0}, []any{p.ExplicitBounds, p.BucketCounts, p.Count, p.GetSum()}); diff != "" {
		t.Errorf("the histogram (-want +got):\n%s", diff)
	}
}
