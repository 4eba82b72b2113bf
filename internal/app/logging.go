package app

import (
	"context"
	"log/slog"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/logging"
	"github.com/sallyport/sallyport/internal/tracing"
)

// openLogging takes the logger that the configuration asks for, and puts its queue in
// front of standard error, whose reader must not make calls wait. In JSON, texts
// for people are messages of the log.
func (rt *Runtime) openLogging() {
	c := rt.InForce().Config.Log
	log := logging.New(rt.Env.Stderr, logging.Format(c.Format), c.Level)
	env := *rt.Env
	env.Stderr = log.Lines("sallyport: ")
	if c.Format == string(logging.Text) {
		env.Stderr = log.Raw()
	}
	rt.Logger, rt.Env, rt.lines = log.Logger, &env, log
	// Before everything else, so that it is closed last.
	rt.closers = append(rt.closers, log.Close)
}

// logEvent writes one line about a call that ended or a change that was made. It has
// names and ids: arguments, results and errors stand in the record alone.
func (rt *Runtime) logEvent(ctx context.Context, e *audit.Event) {
	if e.Kind == audit.KindIntent || !rt.Logger.Enabled(ctx, slog.LevelInfo) {
		return
	}
	attrs := make([]slog.Attr, 0, 16)
	text := func(key, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	text("call", e.CallID)
	text("tool", string(e.Tool))
	text("principal", e.Principal)
	text("role", string(e.Personality))
	text("session", string(e.Session))
	text("surface", string(e.Platform))
	message := "call"
	if e.Kind == audit.KindChange {
		message = "change"
		text("action", string(e.Change.Action))
		text("target", string(e.Change.Target))
	} else {
		attrs = append(attrs, slog.Bool("ok", e.OK), slog.Float64("ms", float64(e.Duration.Microseconds())/1000))
		text("code", string(e.Code))
		text("step", string(e.Stage))
		if e.Cached {
			attrs = append(attrs, slog.Bool("cached", true))
		}
	}
	if rt.traces != nil {
		text("trace", tracing.CallOf(ctx).TraceID())
	}
	rt.Logger.LogAttrs(ctx, slog.LevelInfo, message, attrs...)
}
