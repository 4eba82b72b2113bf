package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	eventStream = "text/event-stream"
	// maxWaiting bounds the progress that waits for a client to read;
	// maxProgress what is sent in one call. A person reads a handful. What is
	// beyond either is dropped: a tool never waits for a client.
	maxWaiting  = 64
	maxProgress = 1000
)

// streamResult makes the call and sends its progress as events, then its result as
// the last one. Comments keep a silent connection alive.
func (c *actionCall) streamResult() {
	e := newEventWriter(c.w)
	waiting := make(chan sallyport.Progress, maxWaiting)
	c.caller.Progress = func(p sallyport.Progress) {
		if p.VisibleTo() != sallyport.AudienceUser {
			return
		}
		select {
		case waiting <- p:
		default:
		}
	}
	ctx, cancel := context.WithCancel(c.r.Context())
	defer cancel()
	ended := make(chan sallyport.Result, 1)
	go func() { ended <- c.s.gate.Call(ctx, &c.caller, c.q) }()
	beat := time.NewTicker(c.s.o.Heartbeat)
	defer beat.Stop()
	for {
		select {
		case p := <-waiting:
			e.sendProgress(p)
		case <-beat.C:
			e.sendComment()
		case res := <-ended:
			for len(waiting) > 0 {
				e.sendProgress(<-waiting)
			}
			e.sendEvent("result", resultBody(&res, c.resultStatus(&res)))
			return
		}
		if e.gone {
			// The client has stopped reading. The call is recorded as cancelled.
			cancel()
			<-ended
			return
		}
	}
}

type eventWriter struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	count int
	gone  bool // a write failed
}

// newEventWriter begins a stream, so that the client knows at once that it is one.
func newEventWriter(w http.ResponseWriter) *eventWriter {
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // an intermediary that collects would make it silent
	e := &eventWriter{w: w, c: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	e.sendComment()
	return e
}

// sendProgress sends an event of a tool, up to the bound.
func (e *eventWriter) sendProgress(p sallyport.Progress) {
	if e.count++; e.count <= maxProgress {
		e.sendEvent("progress", p)
	}
}

// sendEvent writes one event. JSON text has no line breaks of its own.
func (e *eventWriter) sendEvent(kind string, v any) {
	text, err := encodeJSON(v)
	if err != nil {
		// What the gate hands over is plain JSON, so that this cannot happen.
		text = []byte("{}\n")
	}
	e.flushText("event: " + kind + "\ndata: " + string(text) + "\n")
}

// sendComment writes a line that clients skip.
func (e *eventWriter) sendComment() { e.flushText(":\n\n") }

// flushText sends what is complete. A client that reads nothing for long is
// gone.
func (e *eventWriter) flushText(text string) {
	if e.gone {
		return
	}
	// Writers that know no deadlines or cannot flush are those of tests.
	_ = e.c.SetWriteDeadline(time.Now().Add(writeWait))
	if _, err := e.w.Write([]byte(text)); err != nil {
		e.gone = true
		return
	}
	if err := e.c.Flush(); err != nil {
		e.gone = true
	}
}
