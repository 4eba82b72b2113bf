package push

import (
	"context"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/internal/tracing"
)

// OTLP hands records to a collector of OpenTelemetry, as logs over OTLP/HTTP. The collector
// answers each request, so that what it has taken is known.
type OTLP struct {
	client   *otlp.Client
	from     otlp.Source
	describe func(*siem.Line) []tracing.Attr
}

// NewOTLP returns a sender through a client. describe returns the attributes of a record.
func NewOTLP(client *otlp.Client, from otlp.Source, describe func(*siem.Line) []tracing.Attr) *OTLP {
	return &OTLP{client, from, describe}
}

// composeLog returns a line as a record of a log. Its numbers of severity are those that the
// data model of logs has for the words of syslog.
func (o *OTLP) composeLog(l *siem.Line) otlp.Log {
	const informational, notice, warning = 9, 10, 13
	log := otlp.Log{Time: l.Event.Time, Event: tracing.EventRecord + "." + string(l.Event.Kind), Body: l.Text, Attrs: o.describe(l)}
	switch l.Severity {
	case 3:
		log.Severity, log.Level = warning, "warning"
	case 2:
		log.Severity, log.Level = notice, "notice"
	default:
		log.Severity, log.Level = informational, "informational"
	}
	return log
}

// Send implements [Sender].
func (o *OTLP) Send(ctx context.Context, lines []siem.Line) (refused int, err error) {
	logs := make([]otlp.Log, len(lines))
	for i := range lines {
		logs[i] = o.composeLog(&lines[i])
	}
	refused, err = o.client.SendLogs(ctx, &o.from, logs)
	answer, answered := errors.AsType[*otlp.StatusError](err)
	switch {
	case !answered || !answer.IsAboutContent():
		return refused, err
	case len(lines) > 1:
		return 0, fmt.Errorf("%w: %w", ErrTooMuch, err)
	}
	// What takes no empty request either is no collector, and nothing may be lost to it.
	if _, empty := o.client.SendLogs(ctx, &o.from, nil); empty != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%w: %w", ErrAlone, err)
}

// Confirm implements [Sender]: each answer has confirmed what was handed over.
func (o *OTLP) Confirm(context.Context, bool) error { return nil }

// Close implements [Sender].
func (o *OTLP) Close() { o.client.CloseIdle() }

var _ Sender = (*OTLP)(nil)
