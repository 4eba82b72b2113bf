package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// lookAge is how long one look at the state is reused.
	lookAge = time.Second
	// lookWait bounds one look.
	lookWait = 5 * time.Second
)

// Snapshot is the state of a server at a moment. A negative number, and a zero time,
// mean that it is not known, and are left out.
type Snapshot struct {
	// Ready reports whether calls can be served.
	Ready bool
	// Waiting is how many held calls wait for a person.
	Waiting int
	// Oldest is when the one that waits for longest came.
	Oldest time.Time
	// HeadSeq is the number of the newest record of the chain.
	HeadSeq int64
	// HeadTime is the time of that record.
	HeadTime time.Time
	// StateBytes is what the state takes on the disk.
	StateBytes int64
	// Running is how many calls run, with what they left running; Children is how many
	// child processes run in a sandbox.
	Running, Children int
	// Level is how children are confined; empty while it is not known.
	Level string
	// Upstreams says of each MCP server whether it answers.
	Upstreams map[string]bool
	// LinesDropped is how many lines of the log a slow reader has cost.
	LinesDropped int64
	// Spans says what became of spans that are sent to a collector; nil without one.
	Spans *Exported
	// Exported says what an exporter of records has sent and lost; nil without one.
	Exported map[string]Exported
	// Notices says what became of the notices about held calls, by receiver.
	Notices map[string]Exported
	// Anchors says of each place what it has of the record; nil without one.
	Anchors map[string]Anchored
}

// Anchored is what a place has of the record.
type Anchored struct {
	// Seq is the number of the newest head there; 0 while none is known.
	Seq int64
	// Time is when it was kept.
	Time time.Time
	// Failed is how many tries failed, until now.
	Failed int64
}

// Exported is what became of records, or notices, that are sent elsewhere.
type Exported struct {
	// Sent and Lost are how many, until now.
	Sent, Lost int64
	// Behind is how many wait.
	Behind int64
}

// lookup collects a snapshot at a scrape.
type lookup struct {
	look func(context.Context) Snapshot

	mu   sync.Mutex
	at   time.Time
	last Snapshot
}

func newLookup(look func(context.Context) Snapshot) *lookup { return &lookup{look: look} }

func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("sallyport_"+name, help, labels, nil)
}

var (
	descReady      = newDesc("ready", "1 while calls can be served: the state takes writes and the key of the record can be read.")
	descWaiting    = newDesc("approvals_waiting", "Held calls that wait for a person.")
	descOldest     = newDesc("approvals_oldest_seconds", "Age of the held call that waits for longest, 0 without one.")
	descHead       = newDesc("chain_head_seq", "Number of the newest record of the chain.")
	descHeadTime   = newDesc("chain_head_timestamp_seconds", "Time of the newest record of the chain.")
	descState      = newDesc("state_bytes", "What the state takes on the disk, with the log of records.")
	descRunning    = newDesc("calls_running", "Calls that run, with what they have left running.")
	descChildren   = newDesc("children_running", "Child processes that run in a sandbox.")
	descLevel      = newDesc("sandbox_level", "1 for the level that confines children.", "level")
	descUpstream   = newDesc("upstream_up", "1 while a mounted MCP server answers.", "server")
	descLines      = newDesc("log_lines_dropped_total", "Lines of the log that were dropped, since their reader is slow.")
	descSpans      = newDesc("telemetry_spans_total", "Spans that a collector took.")
	descSpansLost  = newDesc("telemetry_spans_lost_total", "Spans that were dropped, since the collector is away or slow.")
	descSent       = newDesc("export_records_total", "Records that were sent elsewhere.", "exporter")
	descLost       = newDesc("export_records_lost_total", "Records that could not be sent elsewhere.", "exporter")
	descBehind     = newDesc("export_records_waiting", "Records that wait to be sent elsewhere.", "exporter")
	descAnchorSeq  = newDesc("anchor_seq", "Number of the newest record whose head is kept at a place.", "place")
	descAnchorTime = newDesc("anchor_timestamp_seconds", "When that head was kept.", "place")
	descAnchorLost = newDesc("anchor_failures_total", "Tries to keep a head at a place that failed.", "place")
	descNoticed    = newDesc("notices_sent_total", "Notices about held calls that were sent.", "receiver")
	descUnnoticed  = newDesc("notices_lost_total", "Notices about held calls that could not be sent.", "receiver")
	descNoticing   = newDesc("notices_waiting", "Notices about held calls that wait to be sent.", "receiver")
	allDescriptors = []*prometheus.Desc{
		descReady, descWaiting, descOldest, descHead, descHeadTime, descState, descRunning, descChildren, descLevel, descUpstream, descLines, descSent, descLost, descBehind,
		descAnchorSeq, descAnchorTime, descAnchorLost,
		descNoticed, descUnnoticed, descNoticing, descSpans, descSpansLost,
	}
)

// Describe implements prometheus.Collector.
func (l *lookup) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range allDescriptors {
		ch <- d
	}
}

// lookUp returns a snapshot of at most lookAge. Scrapes at the same time share it.
func (l *lookup) lookUp() Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= lookAge {
		// It is shared: a client that is gone must not spoil it for the others.
		ctx, cancel := context.WithTimeout(context.Background(), lookWait)
		defer cancel()
		l.last = l.look(ctx)
		l.at = time.Now()
	}
	return l.last
}

// Collect implements prometheus.Collector.
func (l *lookup) Collect(ch chan<- prometheus.Metric) {
	s := l.lookUp()
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		if v >= 0 {
			put(d, prometheus.GaugeValue, v, labels...)
		}
	}
	gauge(descReady, flagValue(s.Ready))
	gauge(descWaiting, float64(s.Waiting))
	switch {
	case !s.Oldest.IsZero():
		gauge(descOldest, max(0, time.Since(s.Oldest).Seconds()))
	case s.Waiting == 0:
		gauge(descOldest, 0)
	}
	gauge(descHead, float64(s.HeadSeq))
	if !s.HeadTime.IsZero() {
		gauge(descHeadTime, float64(s.HeadTime.UnixMilli())/1000)
	}
	gauge(descState, float64(s.StateBytes))
	gauge(descRunning, float64(s.Running))
	gauge(descChildren, float64(s.Children))
	if s.Level != "" {
		gauge(descLevel, 1, s.Level)
	}
	for name, up := range s.Upstreams {
		gauge(descUpstream, flagValue(up), name)
	}
	put(descLines, prometheus.CounterValue, float64(s.LinesDropped))
	if s.Spans != nil {
		put(descSpans, prometheus.CounterValue, float64(s.Spans.Sent))
		put(descSpansLost, prometheus.CounterValue, float64(s.Spans.Lost))
	}
	for name, e := range s.Exported {
		put(descSent, prometheus.CounterValue, float64(e.Sent), name)
		put(descLost, prometheus.CounterValue, float64(e.Lost), name)
		gauge(descBehind, float64(e.Behind), name)
	}
	for name, a := range s.Anchors {
		put(descAnchorLost, prometheus.CounterValue, float64(a.Failed), name)
		if a.Seq > 0 {
			gauge(descAnchorSeq, float64(a.Seq), name)
			gauge(descAnchorTime, float64(a.Time.Unix()), name)
		}
	}
	for name, n := range s.Notices {
		put(descNoticed, prometheus.CounterValue, float64(n.Sent), name)
		put(descUnnoticed, prometheus.CounterValue, float64(n.Lost), name)
		gauge(descNoticing, float64(n.Behind), name)
	}
}

// flagValue is 1 for true.
func flagValue(v bool) float64 {
	if v {
		return 1
	}
	return 0
}
