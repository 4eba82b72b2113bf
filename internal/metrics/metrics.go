// Package metrics counts what a server decides and shows it to Prometheus.
//
// Start with [New]. Counting costs about a microsecond a call and never waits.
// What has to be looked up is looked up when it is asked for, at most once a second, so
// that a flood of questions costs the state nothing. The number of series is bounded,
// whatever names agents call and servers offer.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
)

// Permission is what a principal needs to read the metrics over the server's own
// listener.
const Permission = "metrics:read"

const (
	// maxScrapes bounds the answers that are made at the same time.
	maxScrapes = 2
	// scrapeWait bounds one answer.
	scrapeWait = 10 * time.Second
)

// Metrics is the metrics of one server. It is safe for concurrent use. A nil one
// counts nothing.
type Metrics struct {
	registry *prometheus.Registry
	tools    *toolNames

	calls     *prometheus.CounterVec
	durations *prometheus.HistogramVec
	cached    prometheus.Counter
	changes   *prometheus.CounterVec
	requests  *prometheus.CounterVec
	answers   prometheus.Histogram
}

// durationBounds are the upper bounds of the buckets of durations, in seconds: from a
// call that is decided from memory to one that waited for a person.
var durationBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60, 600}

// New returns metrics. look returns the present state at each scrape, at most once a
// second.
func New(version string, look func(context.Context) Snapshot) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), tools: newToolNames(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_calls_total", Help: "Calls that ended, by tool, surface, outcome (ok, denied, failed, held, dry_run) and the step that refused.",
		}, []string{"tool", "surface", "outcome", "step"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sallyport_call_duration_seconds", Help: "Time of the calls that ran, from the first step to the record.", Buckets: durationBounds,
		}, []string{"tool"}),
		cached: prometheus.NewCounter(prometheus.CounterOpts{Name: "sallyport_calls_cached_total", Help: "Calls that were answered with a kept result."}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_changes_total", Help: "Changes that this process made or decided, by action.",
		}, []string{"action"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sallyport_http_requests_total", Help: "Requests that were answered, by method and status. 401 are logins that failed.",
		}, []string{"method", "code"}),
		answers: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sallyport_http_request_duration_seconds", Help: "Time until a request was answered; streams last as long as they are open.", Buckets: durationBounds,
		}),
	}
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sallyport_build_info", Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": version},
	})
	info.Set(1)
	m.registry.MustRegister(m.calls, m.durations, m.cached, m.changes, m.requests, m.answers, info, newLookup(look),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// CountEvent counts a call that ended, or a change.
func (m *Metrics) CountEvent(e *audit.Event) {
	if m == nil {
		return
	}
	switch e.Kind {
	case audit.KindChange:
		m.changes.WithLabelValues(string(e.Change.Action)).Inc()
	case audit.KindOutcome:
		tool := m.tools.labelTool(string(e.Tool), e.Stage != sallyport.StepDecode && e.Stage != sallyport.StepFind)
		m.calls.WithLabelValues(tool, surfaceLabel(e.Platform), OutcomeOf(e), string(e.Stage)).Inc()
		if e.Stage == "" && !e.DryRun {
			m.durations.WithLabelValues(tool).Observe(e.Duration.Seconds())
		}
		if e.Cached {
			m.cached.Inc()
		}
	}
}

// OutcomeOf returns what became of a call, in a word.
func OutcomeOf(e *audit.Event) string {
	switch {
	case e.DryRun:
		return "dry_run"
	case e.OK:
		return "ok"
	case e.Code == sallyport.CodeApprovalRequired:
		return "held"
	case e.Stage != "":
		return "denied"
	default:
		return "failed"
	}
}

// CountRequest counts a request that was answered.
func (m *Metrics) CountRequest(method string, status int, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(methodLabel(method), statusLabel(status)).Inc()
	m.answers.Observe(took.Seconds())
}

// Handler answers a scrape in the format that Prometheus asks for. At most two are
// answered at the same time, each for at most ten seconds; others get 503.
// A nil Metrics answers 404.
func (m *Metrics) Handler() http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	h := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: scrapeWait})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A reader that takes nothing holds one of the places for that long at most.
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(scrapeWait)); err == nil || errors.Is(err, http.ErrNotSupported) {
			h.ServeHTTP(w, r)
		}
	})
}
