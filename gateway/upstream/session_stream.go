package upstream

import (
	"context"
	"mime"
	"net/http"
	"time"
)

const (
	// attendWait bounds how long a call waits for the stream on which its
	// server may ask.
	attendWait = 2 * time.Second
	// firstRest and longestRest bound the wait between two attempts to open that
	// stream: a server allows one at most, and the one of the previous call may
	// not have ended there yet.
	firstRest, longestRest = 100 * time.Millisecond, 5 * time.Second
)

// sessionStream is the state of the session's stream for messages that belong to no
// request, on which most servers ask. It is open while calls run, on behalf of
// one of them. The mutex of the link guards it.
type sessionStream struct {
	listens bool
	// none says that the server has no such stream.
	none bool
	// open is closed once the stream is open or cannot be opened.
	open chan struct{}
	by   *runningCall
	stop context.CancelFunc
}

// markOpen releases the calls that wait for the stream.
func (e *sessionStream) markOpen() {
	select {
	case <-e.open:
	default:
		close(e.open)
	}
}

// markClosed makes later calls wait for the stream again.
func (e *sessionStream) markClosed() {
	select {
	case <-e.open:
		e.open = make(chan struct{})
	default:
	}
}

func (e *sessionStream) endOfCall() {
	if e.by != nil {
		e.stop()
		e.by = nil
		e.markClosed()
	}
}

// awaitListening waits until the stream of a server that may ask is open.
func (w *messageWire) awaitListening(ctx context.Context) {
	l := w.l
	if len(l.s.Capabilities.Input) == 0 || !l.s.usesPosts() || l.negotiated >= stateless || w.SessionID() == "" {
		return
	}
	l.mu.Lock()
	if !l.sessionStream.listens && !l.sessionStream.none {
		l.sessionStream = sessionStream{listens: true, open: make(chan struct{})}
		l.sessionStream.listens = w.runBeforeClose(w.listenDuringCalls)
	}
	open, listens := l.sessionStream.open, l.sessionStream.listens
	l.mu.Unlock()
	if !listens {
		return
	}
	late := time.NewTimer(attendWait)
	defer late.Stop()
	select {
	case <-open:
	case <-late.C:
	case <-ctx.Done():
	}
}

// listenDuringCalls keeps the stream open while calls run.
func (w *messageWire) listenDuringCalls() {
	for rest := firstRest; ; rest = min(2*rest, longestRest) {
		ctx := w.borrowCallContext()
		if ctx == nil {
			return
		}
		if !w.overhearDuring(ctx) {
			<-ctx.Done()
		}
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			rest = firstRest
		}
	}
}

// borrowCallContext returns a context for listening on behalf of a running call. It ends
// with that call or with the connection. It is nil when no call runs.
func (w *messageWire) borrowCallContext() context.Context {
	l := w.l
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessionStream.endOfCall()
	if w.up.Err() == nil && !l.sessionStream.none {
		for _, r := range l.calls {
			ctx, stop := w.whileUp(r.ctx)
			l.sessionStream.by, l.sessionStream.stop = r, stop
			return ctx
		}
	}
	l.sessionStream.listens = false
	l.sessionStream.markOpen()
	return nil
}

// overhearDuring listens during one call and reports whether to try again.
func (w *messageWire) overhearDuring(ctx context.Context) (again bool) {
	l := w.l
	resp, err := w.openEar(ctx)
	if err == nil {
		defer resp.Body.Close()
		if again = resp.StatusCode == http.StatusOK; again {
			s := answerStream{w: w, events: newEvents(resp.Body), apart: true}
			_, err = s.readAnswer(ctx)
		}
		again = err == nil && (again || resp.StatusCode == http.StatusConflict)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if again {
		l.sessionStream.markClosed()
	} else {
		l.sessionStream.markOpen()
	}
	return again
}

// openEar requests the stream. An answer that is not a stream is an error.
func (w *messageWire) openEar(ctx context.Context) (*http.Response, error) {
	resp, err := w.getStream(ctx, "")
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	w.l.mu.Lock()
	defer w.l.mu.Unlock()
	switch {
	case resp.StatusCode == http.StatusMethodNotAllowed:
		w.l.sessionStream.none = true
	case resp.StatusCode == http.StatusOK && kind != "text/event-stream":
		resp.Body.Close()
		return nil, errMalformed
	case resp.StatusCode == http.StatusOK:
		w.l.sessionStream.markOpen()
	}
	return resp, nil
}
