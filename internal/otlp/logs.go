package otlp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/tracing"
)

// Log is one record of a log.
type Log struct {
	// Time is when it happened.
	Time time.Time
	// Severity is its number, 1 to 24, and Level the same as a word.
	Severity int
	// Level is the word for the severity.
	Level string
	// Event names the kind of event, and Body is its text.
	Event, Body string
	// Attrs say more of it.
	Attrs []tracing.Attr
}

// Fields of opentelemetry.proto.logs.v1.
const (
	logTime, logSeverity, logLevel, logBody, logAttrs field = 1, 2, 3, 5, 6
	logSeen, logEvent                                 field = 11, 12
)

// errCut says that it is not known whether a collector took everything.
var errCut = errors.New("the answer ended early")

// SendLogs sends records of a log once, and returns how many of them the collector rejected:
// sent again they are rejected again. An answer that cannot be read to its end is an error,
// since it may say that records were rejected.
func (c *Client) SendLogs(ctx context.Context, from *Source, logs []Log) (rejected int, err error) {
	answer, wholly, err := c.postMessage(ctx, pathLogs, from.appendLogs(nil, logs))
	if err == nil && !wholly {
		err = errCut
	}
	if err != nil {
		return 0, err
	}
	return int(min(max(readRejected(answer), 0), int64(len(logs)))), nil
}

// appendLogs appends the request that exports records of a log; nothing for none.
func (s *Source) appendLogs(b []byte, logs []Log) []byte {
	if len(logs) == 0 {
		return b
	}
	return requestResources.appendMessage(b, func(b []byte) []byte {
		b = resourceScopes.appendMessage(s.appendResource(b), func(b []byte) []byte {
			b = s.appendScope(b)
			for i := range logs {
				b = scopeItems.appendMessage(b, func(b []byte) []byte { return appendLog(b, &logs[i]) })
			}
			return scopeSchema.appendText(b, tracing.SchemaURL)
		})
		return resourceSchema.appendText(b, tracing.SchemaURL)
	})
}

// appendLog appends one record. A collector refuses a whole request with a text that is not
// valid UTF-8.
func appendLog(b []byte, l *Log) []byte {
	at := unixNano(l.Time)
	b = logSeverity.appendNumber(logTime.appendFixed(b, at), uint64(l.Severity))
	b = logLevel.appendText(b, l.Level)
	b = logBody.appendMessage(b, func(b []byte) []byte { return valueText.appendText(b, validText(l.Body)) })
	for i := range l.Attrs {
		a := l.Attrs[i]
		a.Text = validText(a.Text)
		b = appendAttr(b, logAttrs, &a)
	}
	return logEvent.appendText(logSeen.appendFixed(b, at), validText(l.Event))
}

// validText returns a text with a mark in the place of what is not UTF-8.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
