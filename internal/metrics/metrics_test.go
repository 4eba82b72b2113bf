package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/output"
)

func outcome(tool string, ok bool, stage sallyport.Step, code sallyport.Code) *audit.Event {
	return &audit.Event{Kind: audit.KindOutcome, Tool: output.Plain().Text(tool), OK: ok, Stage: stage, Code: code, Platform: "http", Duration: time.Millisecond}
}

func scrape(t *testing.T, m *Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil || w.Code != 200 {
		t.Fatalf("scrape = %d %v %s", w.Code, err, text)
	}
	return string(text)
}

// full returns metrics in which each series has a value.
func full() *Metrics {
	m := New("v0", func(context.Context) Snapshot {
		return Snapshot{
			Ready: true, Waiting: 1, Oldest: time.Now().Add(-time.Minute), HeadSeq: 7, HeadTime: time.Unix(5, 0), StateBytes: 9, Running: 2, Children: 3, Level: "full",
			Upstreams: map[string]bool{"notes": false}, LinesDropped: 4, Spans: &Exported{Sent: 8, Lost: 9}, Exported: map[string]Exported{"syslog": {Sent: 5, Lost: 6, Behind: 7}},
			Anchors: map[string]Anchored{"/mnt/a": {Seq: 8, Time: time.Unix(6, 0), Failed: 9}},
			Notices: map[string]Exported{"chat": {Sent: 1, Lost: 2, Behind: 3}},
		}
	})
	m.CountEvent(outcome("read_file", true, "", ""))
	m.CountEvent(&audit.Event{Kind: audit.KindChange, Change: &audit.Change{Action: audit.ActionApprove}})
	m.CountRequest("GET", 200, time.Millisecond)
	return m
}

func TestCallsAreCountedByOutcome(t *testing.T) {
	m := full()
	m.CountEvent(outcome("read_file", false, sallyport.StepVisible, sallyport.CodeNotAvailable))
	m.CountEvent(outcome("read_file", false, sallyport.StepApprove, sallyport.CodeApprovalRequired))
	m.CountEvent(outcome("read_file", false, "", sallyport.CodeExecutionFailed))
	m.CountEvent(outcome("no such tool", false, sallyport.StepFind, sallyport.CodeNotAvailable))
	m.CountEvent(&audit.Event{Kind: audit.KindIntent, Tool: output.Plain().Text("read_file")})
	text := scrape(t, m)
	for _, want := range []string{
		`sallyport_calls_total{outcome="ok",step="",surface="http",tool="read_file"} 1`,
		`sallyport_calls_total{outcome="denied",step="visible",surface="http",tool="read_file"} 1`,
		`sallyport_calls_total{outcome="held",step="approve",surface="http",tool="read_file"} 1`,
		`sallyport_calls_total{outcome="failed",step="",surface="http",tool="read_file"} 1`,
		`sallyport_calls_total{outcome="denied",step="find",surface="http",tool="other"} 1`,
		`sallyport_call_duration_seconds_count{tool="read_file"} 2`,
		`sallyport_changes_total{action="approval.approve"} 1`,
		`sallyport_http_requests_total{code="200",method="GET"} 1`,
		`sallyport_upstream_up{server="notes"} 0`,
		`sallyport_export_records_lost_total{exporter="syslog"} 6`,
		`sallyport_anchor_failures_total{place="/mnt/a"} 9`,
		`sallyport_anchor_seq{place="/mnt/a"} 8`,
		`sallyport_anchor_timestamp_seconds{place="/mnt/a"} 6`,
		`sallyport_notices_sent_total{receiver="chat"} 1`, `sallyport_notices_lost_total{receiver="chat"} 2`, `sallyport_notices_waiting{receiver="chat"} 3`,
		`sallyport_telemetry_spans_lost_total 9`,
		`sallyport_chain_head_seq 7`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("the answer lacks %s", want)
		}
	}
	if strings.Contains(text, "no such tool") {
		t.Error("a name that an agent made up is a label")
	}
}

// A server that offers ten thousand tools, agents that make up names and clients that
// make up methods cost a bounded number of series.
func TestSeriesAreBounded(t *testing.T) {
	m := full()
	for i := range 10_000 {
		m.CountEvent(outcome(fmt.Sprintf("mcp__evil__tool_%d", i), true, "", ""))
		m.CountEvent(outcome(fmt.Sprintf("made_up_%d", i), false, sallyport.StepFind, sallyport.CodeNotAvailable))
		m.CountRequest(fmt.Sprintf("M%d", i), 200+i, time.Millisecond)
	}
	m.CountEvent(outcome("mcp__evil__"+strings.Repeat("x", 1000), true, "", ""))
	m.CountEvent(outcome("mcp__good__tool", true, "", ""))
	text := scrape(t, m)
	if n := strings.Count(text, "\nsallyport_calls_total{"); n > maxServerTools+6 {
		t.Errorf("%d series of calls, want at most %d", n, maxServerTools+6)
	}
	if n := strings.Count(text, "\nsallyport_http_requests_total{"); n > 500 {
		t.Errorf("%d series of requests", n)
	}
	for _, want := range []string{`tool="mcp__good__tool"`, `tool="mcp__evil__other"`, `tool="other"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the answer lacks %s", want)
		}
	}
}

// Many scrapes at once look at the state once a second, and more than two at a time are
// turned away.
func TestAFloodOfScrapesLooksOnce(t *testing.T) {
	var looks atomic.Int64
	m := New("v0", func(context.Context) Snapshot { looks.Add(1); return Snapshot{} })
	began := time.Now()
	for range 50 {
		scrape(t, m)
	}
	if n, most := looks.Load(), int64(time.Since(began)/lookAge)+1; n > most {
		t.Errorf("50 scrapes looked %d times, want at most %d", n, most)
	}
}

var metricName = regexp.MustCompile(`\b(sallyport|go|process)_[a-z_]+`)

// families returns the names that the series of a scrape have.
func families(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(scrape(t, full())) {
		if name := metricName.FindString(line); name != "" && !strings.HasPrefix(line, "#") {
			names[name] = true
		}
	}
	return names
}

// checkExpression fails for an expression that names a metric which does not exist or
// that is not balanced.
func checkExpression(t *testing.T, where, expr string, known map[string]bool) {
	t.Helper()
	for _, name := range metricName.FindAllString(expr, -1) {
		if !known[name] {
			t.Errorf("%s names %s, which is no metric", where, name)
		}
	}
	for _, pair := range []string{"()", "{}", "[]"} {
		if strings.Count(expr, pair[:1]) != strings.Count(expr, pair[1:]) {
			t.Errorf("%s is not balanced: %s", where, expr)
		}
	}
}

func TestAlertRulesNameMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile("../../packaging/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	dec := yaml.NewDecoder(strings.NewReader(string(data)))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	known, rules := families(t), 0
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			rules++
			checkExpression(t, r.Alert, r.Expr, known)
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil {
				t.Errorf("%s: for: %v", r.Alert, err)
			}
			if r.Alert == "" || r.Expr == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("the rule %+v lacks a part", r)
			}
		}
	}
	if rules < 5 {
		t.Errorf("%d rules", rules)
	}
}

func TestTheDashboardNamesMetricsThatExist(t *testing.T) {
	data, err := os.ReadFile("../../packaging/grafana/sallyport.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(data, &board); err != nil {
		t.Fatal(err)
	}
	known := families(t)
	shown := map[string]bool{}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			checkExpression(t, p.Title, target.Expr, known)
			shown[metricName.FindString(target.Expr)] = true
		}
	}
	if len(shown) < 12 {
		t.Errorf("the dashboard shows %d metrics", len(shown))
	}
}

func BenchmarkCountEvent(b *testing.B) {
	m, e := full(), outcome("read_file", true, "", "")
	for b.Loop() {
		m.CountEvent(e)
	}
}

// A collector is sent what a scrape answers, counted once.
func TestGatherHasWhatAScrapeHas(t *testing.T) {
	m := full()
	list, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	text, points := scrape(t, m), map[string]otlp.Point{}
	for _, f := range list {
		if !strings.Contains(text, "\n# HELP "+f.Name+" "+f.Help+"\n") && !strings.HasPrefix(text, "# HELP "+f.Name+" ") {
			t.Errorf("a scrape lacks %s", f.Name)
		}
		points[f.Name] = f.Points[0]
	}
	for name, want := range map[string]float64{"sallyport_calls_total": 1, "sallyport_chain_head_seq": 7, "sallyport_approvals_waiting": 1} {
		if got := points[name].Value; got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	took := points["sallyport_call_duration_seconds"]
	all := uint64(0)
	for _, n := range took.Counts {
		all += n
	}
	if len(took.Counts) != len(durationBounds)+1 || len(took.Bounds) != len(durationBounds) || all != 1 || took.Counts[1] != 1 || took.Labels[0] != [2]string{"tool", "read_file"} {
		t.Errorf("a call of a millisecond is sent as %v", took)
	}
	if list, err := (*Metrics)(nil).Gather(); list != nil || err != nil {
		t.Errorf("nil metrics gather %v, %v", list, err)
	}
}
