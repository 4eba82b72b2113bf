package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"mime"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// sessionHeader says which session a message belongs to.
const sessionHeader = "Mcp-Session-Id"

// firstDelay and longestDelay bound the wait before a broken answer is resumed,
// unless the server says how long to wait.
const firstDelay, longestDelay = time.Second, 30 * time.Second

// errRejected is the error of a request that was not delivered; the connection
// stays usable.
var errRejected = &jsonrpc.Error{Code: rejected, Message: "rejected by transport"}

// drainWait bounds how long the rest of a stream is read after its answer.
const drainWait = 200 * time.Millisecond

// postRequest sends a request over streamable HTTP and reads until its answer.
func (w *messageWire) postRequest(ctx context.Context, id int64, r *serverRequest, token string) (*jsonrpc.Response, error) {
	// The rest of the body is read after the call is over.
	far, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	kept := context.AfterFunc(ctx, hangUp)
	m, body, err := w.postOnce(far, id, r, token)
	over := !kept()
	if body != nil && !over && w.runBeforeClose(func() { drainBody(body, hangUp) }) {
		return m, err
	}
	hangUp()
	if body != nil {
		body.Close()
	}
	return m, err
}

// postOnce sends a request to a remote server. If it returns a body, that has
// more to read.
func (w *messageWire) postOnce(ctx context.Context, id int64, r *serverRequest, token string) (*jsonrpc.Response, io.ReadCloser, error) {
	sent, err := http.NewRequestWithContext(ctx, http.MethodPost, w.l.s.URL, bytes.NewReader(r.encodeMessage(id, token, w.l.meta)))
	if err != nil {
		return nil, nil, err
	}
	sent.Header["Content-Type"] = []string{"application/json"}
	sent.Header["Accept"] = []string{"application/json, text/event-stream"}
	w.setHeaders(sent.Header)
	r.setParamHeaders(sent.Header)
	resp, err := w.doRequest(sent, r.method)
	if err != nil {
		return nil, nil, err
	}
	return w.hearOut(ctx, resp, id, r.method)
}

// drainBody reads the rest of a stream, so that its connection can be reused. It
// does not wait for a server that keeps the stream open.
func drainBody(body io.ReadCloser, hangUp context.CancelFunc) {
	late := time.AfterFunc(drainWait, hangUp)
	defer late.Stop()
	const most = 64 << 10
	_, _ = io.CopyN(io.Discard, body, most)
	body.Close()
	hangUp()
}

// hearOut reads the answer in either of its forms. If it returns a body, that
// has more to read.
func (w *messageWire) hearOut(ctx context.Context, resp *http.Response, id int64, method string) (*jsonrpc.Response, io.ReadCloser, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "application/json":
		m, err := readAnswer(resp, id)
		return m, nil, err
	case err == nil && kind == "text/event-stream":
		return w.followEvents(ctx, resp, id, method)
	default:
		resp.Body.Close()
		return nil, nil, fmt.Errorf("sending %q: unsupported content type %q", method, kind)
	}
}

// setHeaders sets the headers that all requests have.
func (w *messageWire) setHeaders(h http.Header) {
	if w.l.negotiated != "" {
		h[versionHeader] = []string{w.l.negotiated}
	}
	if session := w.SessionID(); session != "" {
		h[sessionHeader] = []string{session}
	}
}

// doRequest sends a request and returns its HTTP response if that is successful.
func (w *messageWire) doRequest(r *http.Request, method string) (*http.Response, error) {
	resp, err := w.l.roundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("calling %q: sending %q: %w: %w", method, method, errRejected, err)
	}
	if err := w.checkResponse(resp, method); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// checkResponse returns the error of an unsuccessful HTTP response. The connection
// stays usable if the server is overloaded or itself says what is wrong.
func (w *messageWire) checkResponse(resp *http.Response, method string) error {
	text := http.StatusText(resp.StatusCode)
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusTooManyRequests:
		return fmt.Errorf("calling %q: %w: sending %q: %s", method, errRejected, method, text)
	}
	session := w.SessionID()
	if resp.StatusCode < 200 || resp.StatusCode >= 300 {
		if resp.StatusCode == http.StatusNotFound && session != "" {
			w.l.forgotten.Store(true)
		}
		// If the body cannot be read, the status alone has to do.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, freeBytes))
		if m, err := decodeAll(body); err == nil && m.Error != nil {
			return fmt.Errorf("sending %q: %w: %w: %s", method, m.Error, errRejected, text)
		}
		return fmt.Errorf("sending %q: %s", method, text)
	}
	if theirs := resp.Header.Get(sessionHeader); theirs != "" && session != "" && theirs != session {
		return fmt.Errorf("mismatching session IDs %q and %q", session, theirs)
	}
	return nil
}

// decodeAll decodes a text that must be exactly one answer.
func decodeAll(text []byte) (*jsonrpc.Response, error) {
	if !json.Valid(text) {
		return nil, errors.New("the answer is not JSON")
	}
	m, err := decodeMessage(text)
	if err != nil {
		return nil, err
	}
	answer, ok := m.(*jsonrpc.Response)
	if !ok {
		return nil, errors.New("the message is not an answer")
	}
	return answer, nil
}

// readAnswer reads an answer that is a body of its own.
func readAnswer(resp *http.Response, id int64) (*jsonrpc.Response, error) {
	defer resp.Body.Close()
	body, err := readAll(resp.Body, resp.ContentLength)
	if limitOf(err) != nil {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %v", err)
	}
	m, err := decodeAll(body)
	if err == nil && m.ID.Raw() != id {
		err = errors.New("it is that of another request")
	}
	if err != nil {
		return nil, fmt.Errorf("the answer: %v", err)
	}
	return m, nil
}

// followEvents reads the events of an answer, and resumes the answer where the stream
// broke off.
func (w *messageWire) followEvents(ctx context.Context, resp *http.Response, id int64, method string) (*jsonrpc.Response, io.ReadCloser, error) {
	last, still := "", 0
	for parts := 1; ; parts++ {
		s := answerStream{w: w, events: newEvents(resp.Body), id: id}
		m, err := s.readAnswer(ctx)
		if m != nil && err == nil {
			return m, resp.Body, nil
		}
		resp.Body.Close()
		switch {
		case err != nil:
			return nil, nil, err
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case s.last == "":
			return nil, nil, errors.New("request terminated without response")
		case s.last != last:
			last, still = s.last, 0
		default:
			still++
		}
		if parts > maxParts {
			return nil, nil, fmt.Errorf("sending %q: the answer was broken off %d times", method, maxParts)
		}
		if still > reconnects {
			return nil, nil, fmt.Errorf("sending %q: exceeded %d retries without progress", method, reconnects)
		}
		if resp, err = w.resumeStream(ctx, s.last, s.pause, method); err != nil {
			return nil, nil, err
		}
	}
}

// answerStream is one of the streams in which an answer arrives.
type answerStream struct {
	w      *messageWire
	events *sseReader
	id     int64
	// last is the id of the last event; pause is how long the server wants the
	// client to wait before it resumes.
	last  string
	pause time.Duration
	// apart marks the stream of messages that belong to no request.
	apart bool
}

// readAnswer reads until the answer. The answer is nil when the stream ends before
// it.
func (s *answerStream) readAnswer(ctx context.Context) (*jsonrpc.Response, error) {
	for {
		e, err := s.events.nextEvent()
		switch {
		case errors.Is(err, errMalformed), limitOf(err) != nil:
			return nil, err
		case err != nil:
			return nil, nil
		}
		s.last, s.pause = cmp.Or(e.id, s.last), cmp.Or(e.retry, s.pause)
		if len(e.data) == 0 || e.name != "" && e.name != "message" {
			continue
		}
		if !json.Valid(e.data) {
			return nil, fmt.Errorf("%w: it is not JSON", errMalformed)
		}
		m, err := decodeMessage(e.data)
		if err != nil {
			return nil, fmt.Errorf("an event: %v", err)
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			if m.ID.Raw() == s.id && !s.apart {
				return m, nil
			}
		case *jsonrpc.Request:
			c := callOf(ctx)
			if s.apart {
				c = nil
			}
			if err := s.w.handleNotification(ctx, m, c); err != nil {
				return nil, err
			}
		}
	}
}

// resumeStream requests the events after the one with id last.
func (w *messageWire) resumeStream(ctx context.Context, last string, delay time.Duration, method string) (resp *http.Response, err error) {
	for attempt := 1; attempt <= reconnects; attempt++ {
		if delay <= 0 {
			delay = pauseBefore(attempt)
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		delay = 0
		if resp, err = w.getStream(ctx, last); err != nil {
			continue
		}
		if err := w.checkResponse(resp, method); err != nil {
			resp.Body.Close()
			return nil, fmt.Errorf("taking it up again: %v", err)
		}
		return resp, nil
	}
	return nil, fmt.Errorf("sending %q: the answer could not be taken up again: %v", method, err)
}

// getStream requests a stream of events: those after the one with id last, or the
// session's own where last is empty.
func (w *messageWire) getStream(ctx context.Context, last string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.l.s.URL, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	w.setHeaders(r.Header)
	return w.l.roundTrip(r)
}

// pauseBefore returns the wait before an attempt. It grows, and it is random so
// that clients do not all return at the same time.
func pauseBefore(attempt int) time.Duration {
	d := min(time.Duration(float64(firstDelay)*math.Pow(1.5, float64(attempt-1))), longestDelay)
	return d + rand.N(d)
}
