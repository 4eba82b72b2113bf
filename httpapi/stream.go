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

// stream makes the call and sends its progress as events, then its result as
// the last one. Comments keep a silent connection alive.
func (c *actionCall) stream() {
	e := newEvents(c.w)
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
			e.progress(p)
		case <-beat.C:
			e.comment()
		case res := <-ended:
			for len(waiting) > 0 {
				e.progress(<-waiting)
			}
			e.send("result", resultBody(&res, c.resultStatus(&res)))
			return
		}
		if e.gone {
			// Nobody reads any more. The call is recorded as cancelled.
			cancel()
			<-ended
			return
		}
	}
}

// events writes a stream of server-sent events.
type events struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	count int
	gone  bool // a write failed
}

// newEvents begins a stream, so that the client knows at once that it is one.
func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", eventStream)
	w.Header().Set("X-Accel-Buffering", "no") // an intermediary that collects would make it silent
	e := &events{w: w, c: http.NewResponseController(w)}
	w.WriteHeader(http.StatusOK)
	e.comment()
	return e
}

// progress sends an event of a tool, up to the bound.
func (e *events) progress(p sallyport.Progress) {
	if e.count++; e.count <= maxProgress {
		e.send("progress", p)
	}
}

// send writes one event. JSON text has no line breaks of its own.
func (e *events) send(kind string, v any) {
	text, err := encodeJSON(v)
	if err != nil {
		// What the gate hands over is plain JSON, so that this cannot happen.
		text = []byte("{}\n")
	}
	e.write("event: " + kind + "\ndata: " + string(text) + "\n")
}

// comment writes a line that clients skip.
func (e *events) comment() { e.write(":\n\n") }

// write sends what is complete. A client that reads nothing for long is gone.
func (e *events) write(text string) {
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
