// Package logging writes what an operator may want to know, in lines of text or
// JSON, and never makes the program wait for their reader.
//
// Start with [New].
package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Format is the form of a line.
type Format string

// The formats.
const (
	// Text is key=value pairs.
	Text Format = "text"
	// JSON is one object.
	JSON Format = "json"
)

// Log is a logger, and the queue in front of its output. It is safe for concurrent
// use.
type Log struct {
	// Logger writes into the queue.
	*slog.Logger
	queue *queue
}

// New returns a log of a level that writes to w behind a queue, from a goroutine of
// its own. What does not fit in the queue is dropped, and a later line says how much.
// Of lines from [slog.LevelWarn] on with one and the same message only a few a second
// are written: clients can cause them.
func New(w io.Writer, format Format, level slog.Level) *Log {
	handler := func(w io.Writer) slog.Handler {
		o := &slog.HandlerOptions{Level: level}
		if format == JSON {
			return slog.NewJSONHandler(w, o)
		}
		return slog.NewTextHandler(w, o)
	}
	q := newQueue(w, maxQueued, func(lines int64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Warn("log lines were dropped, since their reader is slow", "lines", lines)
		return line.Bytes()
	})
	return &Log{Logger: slog.New(newFlood(handler(q))), queue: q}
}

// Raw returns a writer of whole lines into the queue, as they are. It is safe for
// concurrent use.
func (l *Log) Raw() io.Writer { return l.queue }

// Close writes what is queued, for at most closeWait.
func (l *Log) Close() error { return l.queue.close() }

// Dropped returns how many lines did not fit in the queue until now.
func (l *Log) Dropped() int64 { return l.queue.dropped.Load() }

// maxPartial bounds a line of [Lines] that has no end yet, in bytes.
const maxPartial = 64 << 10

// Lines returns a writer that logs each line that is written to it as one message, so
// that texts for people stand in the log in its own form. A prefix is taken off.
// It is safe for concurrent use.
func (l *Log) Lines(prefix string) io.Writer { return &lines{log: l, prefix: prefix} }

type lines struct {
	log    *Log
	prefix string

	mu   sync.Mutex
	rest []byte
}

// Write logs the lines that end in p, and keeps the rest for the next one.
func (w *lines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		line, rest, ended := bytes.Cut(w.rest, []byte("\n"))
		if !ended && len(w.rest) < maxPartial {
			break
		}
		if text := strings.TrimPrefix(string(line), w.prefix); text != "" {
			// A text for a person is written whatever the level is.
			_ = w.log.Handler().Handle(context.Background(), slog.NewRecord(time.Now(), slog.LevelInfo, text, 0))
		}
		w.rest = append(w.rest[:0], rest...)
	}
	return len(p), nil
}
