// Package otlp sends spans, metrics and logs to a collector of OpenTelemetry over OTLP/HTTP, in
// protocol buffers.
//
// Start with [NewExporter] for spans and metrics. Nothing waits for a collector: what does not
// fit in a bounded queue, and what the collector does not take in time, is dropped, counted and
// said in the log. [Client.SendLogs] is for a caller that keeps what it has not handed over.
// The messages are written by hand, since the official exporters bring a server of gRPC
// into the program; a test reads them with the official definitions.
package otlp

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport/internal/tracing"
)

const (
	// maxWaiting bounds the spans that wait, and those that are being sent.
	maxWaiting = 8192
	// maxBatch bounds the spans of one request, but for those of its last call.
	maxBatch = 512
	// batchWait is how long the first span of a request waits for others.
	batchWait = time.Second
	// tellEvery is how often the log says at most what was lost.
	tellEvery = time.Minute
)

// Options say what is sent where.
type Options struct {
	// Client sends the requests to the collector, without its paths. It must be set.
	Client *Client
	// Source is named in each message.
	Source
	// Logger is told what was lost.
	Logger *slog.Logger
	// Gather returns the metrics of now; nil sends none.
	Gather func() ([]Family, error)
	// Every is how often it is called.
	Every time.Duration
}

// Exporter sends what it is given from goroutines of its own. It is safe for concurrent
// use.
type Exporter struct {
	o       Options
	start   time.Time
	waiting *waitingCalls
	sent    atomic.Int64
	lost    atomic.Int64

	stop    chan struct{} // closed when no calls come any more
	once    sync.Once
	running sync.WaitGroup
	ctx     context.Context // of all requests
	cancel  context.CancelFunc

	// The goroutine that sends spans owns what follows.
	told     int64 // lost spans of which the log has been told
	toldAt   time.Time
	lastFail error
}

// NewExporter returns an exporter, which sends until [Exporter.Close].
func NewExporter(o *Options) *Exporter {
	e := &Exporter{o: *o, start: time.Now(), waiting: newWaitingCalls(), stop: make(chan struct{})}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.running.Go(e.sendCalls)
	if o.Gather != nil {
		e.running.Go(e.sendMetrics)
	}
	return e
}

// AddCall takes the spans of a call that has ended. It never waits. Where too many wait,
// those of the principal with the most of them are lost.
func (e *Exporter) AddCall(c *tracing.Call) { e.lost.Add(e.waiting.addCall(c)) }

// CountSpans returns how many spans were sent and lost until now.
func (e *Exporter) CountSpans() (sent, lost int64) { return e.sent.Load(), e.lost.Load() }

// Close sends what waits until the context ends. Nothing may be added any more.
func (e *Exporter) Close(ctx context.Context) {
	e.once.Do(func() { close(e.stop) })
	late := context.AfterFunc(ctx, e.cancel)
	e.running.Wait()
	late()
	e.cancel()
}

// sendCalls sends the spans of calls in batches.
func (e *Exporter) sendCalls() {
	for {
		if c := e.waiting.takeCall(); c != nil {
			e.sendBatch(e.collectBatch(c))
			e.tellLost()
			continue
		}
		select {
		case <-e.waiting.wake:
		case <-e.stop:
			// What was added before the end is there.
			for c := e.waiting.takeCall(); c != nil; c = e.waiting.takeCall() {
				e.sendBatch(e.collectBatch(c))
			}
			e.toldAt = time.Time{}
			e.tellLost()
			return
		}
	}
}

// collectBatch returns a call with others that follow soon, and how many spans they have.
func (e *Exporter) collectBatch(first *tracing.Call) (batch []*tracing.Call, spans int) {
	late := time.NewTimer(batchWait)
	defer late.Stop()
	over := false
	for c := first; ; c = e.waiting.takeCall() {
		if c != nil {
			if batch, spans = append(batch, c), spans+c.CountSpans(); spans >= maxBatch {
				return batch, spans
			}
			continue
		}
		if over {
			return batch, spans
		}
		select {
		case <-e.waiting.wake:
		case <-late.C:
			return batch, spans
		case <-e.stop:
			over = true // no more comes than what is there
		}
	}
}

// sendBatch sends the spans of calls, and counts what became of them.
func (e *Exporter) sendBatch(batch []*tracing.Call, spans int) {
	defer e.waiting.releaseSpans(spans)
	for _, c := range batch {
		e.lost.Add(int64(c.CountLost()))
	}
	rejected, err := e.o.Client.sendUntilTaken(e.ctx, pathTraces, e.o.appendCalls(nil, batch))
	if err != nil {
		e.lost.Add(int64(spans))
		e.lastFail = err
		return
	}
	rejected = min(max(rejected, 0), int64(spans))
	e.sent.Add(int64(spans) - rejected)
	if e.lost.Add(rejected); rejected > 0 {
		e.lastFail = errRejected
	}
}

// tellLost tells the log how many spans were lost since it was told last.
func (e *Exporter) tellLost() {
	lost := e.lost.Load()
	if lost == e.told || time.Since(e.toldAt) < tellEvery {
		return
	}
	attrs := []any{"lost", lost - e.told}
	if e.lastFail != nil {
		attrs = append(attrs, "error", e.lastFail)
	}
	e.o.Logger.Warn("spans were dropped: the collector is away or slow", attrs...)
	e.told, e.toldAt, e.lastFail = lost, time.Now(), nil
}

// sendMetrics sends the metrics at each interval, and at the end.
func (e *Exporter) sendMetrics() {
	tick := time.NewTicker(e.o.Every)
	defer tick.Stop()
	for last := false; !last; {
		select {
		case <-tick.C:
		case <-e.stop:
			last = true
		}
		families, err := e.o.Gather()
		if err == nil {
			_, err = e.o.Client.sendOnce(e.ctx, pathMetrics, e.o.appendFamilies(nil, families, e.start, time.Now()))
		}
		if err != nil {
			// The next ones are sums over the same time: nothing is lost but this moment.
			e.o.Logger.Warn("metrics were not sent to the collector", "error", err)
		}
	}
}
