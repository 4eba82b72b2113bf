package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/logging"
	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/internal/tracing"
)

// telemetryWait bounds how long the end of a server waits for its collector.
const telemetryWait = 2 * time.Second

// openTelemetry begins to trace calls and to send what the configuration asks for. It
// reaches for nothing: a collector that is away is no reason not to serve.
func (rt *Runtime) openTelemetry() {
	c := rt.InForce().Config.Telemetry
	if c == nil {
		return
	}
	o := &otlp.Options{
		Client: otlp.NewClient(c.URL, func(ctx context.Context) (http.Header, error) {
			return rt.collectorHeader(ctx, "telemetry.otlp", c.Headers)
		}, rt.dialOutside, nil),
		Source: otlp.Source{Version: Version(), Instance: logging.NewID()}, Logger: rt.Logger,
	}
	if c.MetricsEvery > 0 {
		o.Every, o.Gather = c.MetricsEvery, rt.Metrics.Gather
	}
	rt.spans = otlp.NewExporter(o)
	rt.traces = tracing.NewTracer(c.Sample, c.Pass, rt.spans.AddCall)
	rt.closers = append(rt.closers, func() error { rt.StopTelemetry(); return nil })
}

// StopTelemetry sends what waits to be sent, for a short time. Call it when no call runs
// any more and secrets can still be read.
func (rt *Runtime) StopTelemetry() {
	if rt.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryWait)
	defer cancel()
	rt.spans.Close(ctx)
}

// Traces returns what traces the calls of a server; nil where nothing is traced.
func (rt *Runtime) Traces() *tracing.Tracer { return rt.traces }

// collectorHeader returns the headers of a request to a collector, with the secrets of now.
// key is that of the collector in the configuration.
func (rt *Runtime) collectorHeader(ctx context.Context, key string, headers map[string]config.TelemetryHeader) (http.Header, error) {
	h := http.Header{}
	for name, v := range headers {
		t := rt.InForce()
		if t == nil || t.secretsOf == nil {
			return nil, fmt.Errorf("%s.headers.%s: the configuration names no source of secrets", key, name)
		}
		secret, ok, err := t.secretsOf.Secret(ctx, v.Secret)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s.headers.%s: the secret cannot be read: %w", key, name, err)
		case !ok:
			return nil, fmt.Errorf("%s.headers.%s: the secret is not set", key, name)
		}
		h.Set(name, v.Prefix+secret.Reveal())
	}
	return h, nil
}

// endSpan ends the span of a call whose outcome is recorded, and says in it what became
// of the call. It has names and ids: arguments, results and texts of errors stand in the
// record alone, and so does a name that is no tool, which an agent may have made up.
func endSpan(ctx context.Context, e *audit.Event) {
	c := tracing.CallOf(ctx)
	if e.Kind != audit.KindOutcome || !c.IsSampled() {
		return
	}
	s := &c.Root
	s.Attrs = make([]tracing.Attr, 0, 20)
	nameSpan(s, c.Request, e)
	if q := c.Request; q != nil {
		s.SetText(tracing.KeyMethod, q.Method)
		s.SetText(tracing.KeyProtocol, q.Protocol)
		s.SetText(tracing.KeySession, q.Session)
		s.SetText(tracing.KeyRequestID, q.ID)
		s.SetText(tracing.KeyTransport, q.Transport)
	}
	describeEvent(s, e)
	if !e.OK {
		s.FailWith(errorType(c.Request, e))
	}
	c.EndCall()
}

// describeEvent says in a span what is recorded of a call.
func describeEvent(s *tracing.Span, e *audit.Event) {
	s.SetText(tracing.KeyToolCall, string(e.ToolCallID))
	if string(e.Session) != e.CallID { // a call without a session has one of its own
		s.SetText(tracing.KeyConversation, string(e.Session))
	}
	s.SetText(tracing.KeyCallID, e.CallID)
	s.SetText(tracing.KeyPrincipal, e.Principal)
	s.SetText(tracing.KeyRole, string(e.Personality))
	s.SetText(tracing.KeySurface, string(e.Platform))
	if e.Kind == audit.KindOutcome {
		s.SetText(tracing.KeyOutcome, metrics.OutcomeOf(e))
	}
	s.SetText(tracing.KeyStep, string(e.Stage))
	s.SetText(tracing.KeyCode, string(e.Code))
	if e.Cached {
		s.SetText(tracing.KeyCached, "true")
	}
}

// nameSpan gives the span of a call its kind, and its name by what was called.
func nameSpan(s *tracing.Span, q *tracing.Request, e *audit.Event) {
	s.Kind, s.Name = tracing.KindInternal, tracing.OperationExecute
	if q != nil && q.Method != "" {
		s.Kind, s.Name = tracing.KindServer, q.Method
	}
	form, name := sallyport.ParseID(string(e.Tool))
	if e.Stage == sallyport.StepDecode || e.Stage == sallyport.StepFind {
		name = ""
	}
	switch {
	case form == sallyport.FormTool:
		s.SetText(tracing.KeyOperation, tracing.OperationExecute)
		s.SetText(tracing.KeyTool, name)
	case form == sallyport.FormPrompt:
		s.SetText(tracing.KeyPrompt, name)
	default:
		name = "" // the URI of a resource may have anything in it
	}
	if name != "" {
		s.Name += " " + name
	}
}

// errorType returns the class of a failure: MCP has one for every result that is an error.
func errorType(q *tracing.Request, e *audit.Event) string {
	switch {
	case q != nil && q.Method != "":
		return tracing.ErrorTool
	case e.Code != "":
		return string(e.Code)
	default:
		return tracing.ErrorOther
	}
}
