package command

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkTraces calls `read_file` of 1 kB over HTTP, 16 at once, of the default `serve`
// and of one that sends the trace of every call to a collector on this machine, which
// drops them. The two take turns. It reports the median of the ratios of their calls/s in
// each turn, the ratio of their processor times, and what a span costs in that.
func BenchmarkTraces(b *testing.B) {
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var servers [2]*service
	var calls [2]func() error
	for i, telemetry := range []string{"", "telemetry: {otlp: {url: " + sink.URL + ", metrics: 0s}}\n"} {
		dir := configured(b, "version: 2\n"+telemetry+"personalities: {default: {fs_reach: {read: [\"${workspace}\"]}}}\n")
		place(b, dir, "a.txt", strings.Repeat("0123456789abcde\n", 64))
		s := serveHTTP(b, dir)
		servers[i] = s
		calls[i] = func() error {
			r, err := http.NewRequest(http.MethodPost, s.url+"/v1/actions/read_file/execute", strings.NewReader(`{"params":{"path":"a.txt"}}`))
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer "+s.token)
			r.Header.Set("Content-Type", "application/json")
			res, err := client.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d, %v", res.StatusCode, err)
			}
			return nil
		}
		atOnce(b, 500, 16, calls[i])
	}
	b.ResetTimer()
	const turn = 2000
	var ratios []float64
	var spent, wall [2]time.Duration
	for left := b.N; left > 0; left -= turn {
		var took [2]time.Duration
		for i := range servers {
			before, began := processorTime(b, servers[i].cmd.Process.Pid), time.Now()
			atOnce(b, min(turn, left), 16, calls[i])
			took[i] = time.Since(began)
			spent[i] += processorTime(b, servers[i].cmd.Process.Pid) - before
			wall[i] += took[i]
		}
		ratios = append(ratios, float64(took[0])/float64(took[1]))
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "calls/s-ratio")
	b.ReportMetric(float64(b.N)/wall[0].Seconds(), "calls/s-off")
	b.ReportMetric(float64(b.N)/wall[1].Seconds(), "calls/s-on")
	b.ReportMetric(float64(spent[0].Microseconds())/float64(b.N), "µs-off")
	b.ReportMetric(float64(spent[1].Microseconds())/float64(b.N), "µs-on")
}
