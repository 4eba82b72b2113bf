package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/budget"
	"github.com/sallyport/sallyport/internal/running"
	"github.com/sallyport/sallyport/internal/turn"
)

const (
	// maxPosts bounds the requests that are read and answered at once, and
	// maxOwnPosts those of one principal. longBytes bounds the total size of
	// those messages that are longer than smallBytes, from when they are read
	// until they are answered. Together they limit what clients can occupy to
	// about 400 MiB, whatever they send.
	maxPosts, maxOwnPosts = 800, 400
	longBytes             = 192 << 20
	// maxListens bounds the streams of changes over HTTP that are open at once,
	// and maxOwnListens those of one principal.
	maxListens, maxOwnListens = 1000, 100
)

// httpSurface is the handler of streamable HTTP.
type httpSurface struct {
	core      *core
	calls     *running.Set
	posts     *running.Set // requests that are being read and answered
	listens   *running.Set // streams of changes
	sessions  sessionSet
	long      *budget.Budget // of long messages
	writeWait time.Duration
}

func newHTTPSurface(c *core) *httpSurface {
	return &httpSurface{
		core: c, calls: running.New(0, 0), posts: running.New(maxPosts, maxOwnPosts),
		listens:  running.NewYielding(maxListens, maxOwnListens),
		sessions: sessionSet{open: map[string]*httpSession{}},
		long:     budget.New(longBytes), writeWait: writeWait,
	}
}

// shutdown waits for running calls until ctx ends, cancels the rest, and ends
// streams and sessions.
func (s *httpSurface) shutdown(ctx context.Context) error {
	err := s.calls.Wait(ctx)
	s.calls.Stop()
	s.listens.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	err = errors.Join(err, s.calls.Wait(stop))
	// A call is over before its answer is written.
	err = errors.Join(err, s.posts.Wait(stop), s.listens.Wait(stop))
	s.sessions.closeAll()
	return err
}

// ServeHTTP serves one request.
func (s *httpSurface) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w = slowClientWriter{w, s.writeWait}
	p, ok := auth.PrincipalFrom(r.Context())
	if !ok || p.Name == "" {
		http.Error(w, "no principal", http.StatusUnauthorized)
		return
	}
	if status, why := checkHead(r); status != 0 {
		if status == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", why)
			why = "Method Not Allowed"
		}
		http.Error(w, why, status)
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.serveStream(w, r, p)
	case http.MethodDelete:
		s.serveEnd(w, r, p)
	default:
		if x := s.servePost(w, r, p); x != nil {
			s.serveListening(x)
		}
	}
}

// servePost reads a message and answers it. It returns a message that only opens a
// stream instead of answering it, because such a request does not count as
// waiting for an answer.
func (s *httpSurface) servePost(w http.ResponseWriter, r *http.Request, p sallyport.Principal) (opens *httpExchange) {
	_, done, ok := s.posts.Begin(r.Context(), p.Name)
	if !ok {
		answerBusy(w, fmt.Sprintf("too many requests at once: %d of a principal, %d of all, and fewer the more run; try again", maxOwnPosts, maxPosts))
		return nil
	}
	defer done()
	body, held, err := s.readBody(w, r, p.Name)
	defer held.Release()
	if err != nil {
		answerUnread(w, err)
		return nil
	}
	x := &httpExchange{w: w, r: r, events: eventStream{w: w}}
	x.Message, err = openMessage(body)
	x.carrier, x.principal, x.calls = &x.events, p, s.calls
	x.rounds = isStateless(r, &x.Message)
	if err == nil {
		if x.said, err = turn.FromHeader(r.Header.Values(turn.Header)); err != nil {
			err = wire.Invalid(err.Error())
		}
	}
	switch refused := (*jsonrpc.Error)(nil); {
	case errors.As(err, &refused):
		x.refuse(refused)
	case x.ID == nil && requests[x.Method].in != noProtocol:
		x.refuse(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the request %q has no id", x.Method)})
	case x.rounds:
		return s.answerRound(x)
	default:
		s.answerInSession(x)
	}
	return nil
}

// answerRound answers a message of a protocol without sessions.
func (s *httpSurface) answerRound(x *httpExchange) (opens *httpExchange) {
	if refused := s.checkAgreement(x); refused != nil {
		x.refuse(refused)
		return nil
	}
	switch {
	case x.ID == nil, x.Method == "":
		// Closing a request cancels it, and there are no questions to answer.
		x.w.WriteHeader(http.StatusAccepted)
	case x.Method == methodListen:
		return x
	default:
		s.answerCall(x.r.Context(), x)
	}
	return nil
}

// answerInSession answers a message of a protocol with sessions. Until then its
// session does not count as idle.
func (s *httpSurface) answerInSession(x *httpExchange) {
	switch {
	case x.Version != "":
		x.refuse(unsupportedVersion(x.Version))
		return
	case x.r.Header.Get(sessionHeader) == "":
		s.beginSession(x)
		return
	}
	open, status := s.sessions.useSession(x.r.Header.Get(sessionHeader), x.principal)
	if status != 0 {
		http.Error(x.w, sessionRefusal(status), status)
		return
	}
	defer open.releaseUse()
	x.session = &open.session
	switch {
	case x.Method == "":
		x.session.deliverAnswer(&x.Message)
	case x.Method == methodCancelled:
		open.cancelRequest(cancelledID(&x.Message))
	case x.ID != nil:
		s.answerKnown(x, open)
		return
	}
	x.w.WriteHeader(http.StatusAccepted)
}

// answerKnown answers a request of a session. The client chooses the order of the
// calls of a session; closing the request does not cancel it, and neither does the
// end of the session.
func (s *httpSurface) answerKnown(x *httpExchange, open *httpSession) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
	defer cancel()
	key := wire.IDKey(x.ID)
	if !open.beginRequest(key, cancel) {
		x.refuse(&jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("duplicate in-flight request ID %v", key)})
		return
	}
	x.ends = func() { open.endRequest(key) }
	s.answerCall(ctx, x)
}

func (s *httpSurface) answerCall(ctx context.Context, x *httpExchange) {
	x.streams = !answersAtOnce(x.Method)
	text := s.core.answers.getBuffer()
	defer s.core.answers.putBuffer(text)
	answer, refused := s.core.answerRequest(ctx, &x.request, *text)
	*text = answer
	x.finish(answer, refused)
}

// beginSession answers a message without a session, which has to begin one.
func (s *httpSurface) beginSession(x *httpExchange) {
	if x.Method != methodInitialize {
		x.refuse(&jsonrpc.Error{
			Code:    jsonrpc.CodeInvalidRequest,
			Message: "there is no session: initialize, then send Mcp-Session-Id; or send Mcp-Protocol-Version " + statelessSince,
		})
		return
	}
	open := s.sessions.newHTTPSession(x.principal)
	x.session, x.streams = &open.session, true
	answer, refused := s.core.answerRequest(x.r.Context(), &x.request, nil)
	if refused == nil {
		if !s.sessions.addSession(open) {
			answerBusy(x.w, fmt.Sprintf("too many sessions are open: %d of a principal, %d of all; end one with DELETE, or try again", maxOwnSessions, maxSessions))
			return
		}
		x.w.Header().Set(sessionHeader, open.id)
	}
	x.finish(answer, refused)
}

// serveListening serves a stream of changes, which stays open until its client or the
// server ends it.
func (s *httpSurface) serveListening(x *httpExchange) {
	ctx, done, ok := s.listens.Begin(x.r.Context(), x.principal.Name)
	if !ok {
		answerBusy(x.w, tooManyStreams)
		return
	}
	defer done()
	s.answerCall(ctx, x)
}

// serveStream serves the stream on which the client of a session is told of
// changes.
func (s *httpSurface) serveStream(w http.ResponseWriter, r *http.Request, p sallyport.Principal) {
	open, status := s.sessions.findSession(r.Header.Get(sessionHeader), p)
	if status != 0 {
		http.Error(w, sessionRefusal(status), status)
		return
	}
	ctx, done, ok := s.listens.Begin(r.Context(), p.Name)
	if !ok {
		answerBusy(w, tooManyStreams)
		return
	}
	defer done()
	if !open.beginStream() {
		http.Error(w, "stream ID conflicts with ongoing stream", http.StatusConflict)
		return
	}
	defer open.endStream()
	changed, remove := s.core.changes.addStream()
	defer remove()
	events := &eventStream{w: w}
	if events.begin() != nil {
		return
	}
	open.tellChanges(ctx, changed, events)
}

// tooManyStreams is the answer to a client that opens one stream too many.
var tooManyStreams = fmt.Sprintf("too many streams are open: %d of a principal, %d of all; end one, or try again", maxOwnListens, maxListens)

func (s *httpSurface) serveEnd(w http.ResponseWriter, r *http.Request, p sallyport.Principal) {
	open, status := s.sessions.findSession(r.Header.Get(sessionHeader), p)
	if status != 0 {
		http.Error(w, sessionRefusal(status), status)
		return
	}
	open.end()
	w.WriteHeader(http.StatusNoContent)
}

// readBody returns the body. The caller releases held once a long message is
// answered. read does not wait for long messages of other requests: if there is
// no room, the error is [budget.ErrFull].
func (s *httpSurface) readBody(w http.ResponseWriter, r *http.Request, principal string) (body []byte, held *budget.Holding, err error) {
	all := http.MaxBytesReader(w, r.Body, maxMessageBytes)
	// The announced length is not trusted with more than one page of memory.
	begin := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), 4<<10)+bytes.MinRead))
	_, err = begin.ReadFrom(io.LimitReader(all, smallBytes))
	if body = begin.Bytes(); err != nil || len(body) < smallBytes {
		return body, nil, err
	}
	held = s.long.Hold("", principal, nil)
	body, err = held.ReadAll(all, body)
	return body, held, err
}

// answerUnread answers a body that did not arrive completely.
func answerUnread(w http.ResponseWriter, err error) {
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		http.Error(w, "the message is too long", http.StatusRequestEntityTooLarge)
		return
	}
	if errors.Is(err, budget.ErrFull) {
		answerBusy(w, fmt.Sprintf("too many long messages at once: %d MiB in all, half of what is left for each principal; try again", longBytes>>20))
		return
	}
	http.Error(w, "the message did not arrive whole", http.StatusBadRequest)
}

// answerBusy answers a request that exceeds a bound.
func answerBusy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusServiceUnavailable)
}
