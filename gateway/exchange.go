package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
)

// httpExchange is one POST whose message has been read.
type httpExchange struct {
	w         http.ResponseWriter
	r         *http.Request
	principal sallyport.Principal
	message   *messageEnvelope
	stateless bool
	session   *httpSession // nil when there is none of that id
}

// answerDirectly answers a call or a listing without the library and reports whether it
// did. It leaves every request that the library would refuse to the library, so
// that errors are worded in one place. The answer is one JSON text: only a
// result follows, and every client has to accept that form. As in the library,
// the clients choose the order of the calls of a session. Closing the request
// cancels a call only in protocols without sessions. If the session is closed
// while a direct call runs, the call still gets its answer.
func (s *httpSurface) answerDirectly(x *httpExchange) bool {
	d, ok := x.message.asDirect()
	if !ok || !s.isRegular(x, &d) || s.server.mayOutliveRequest(&d) {
		return false
	}
	ctx, session := x.r.Context(), ""
	if !x.stateless {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		if !x.session.beginRequest(d.key, cancel) {
			x.writeFault(&messageFault{id: d.id, code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("duplicate in-flight request ID %v", d.key)})
			return true
		}
		ctx, session = own, x.session.id
		d.elicits = x.session.elicits
	}
	text := s.server.answers.getBuffer()
	defer s.server.answers.putBuffer(text)
	var held *sallyport.Result
	if *text, held = s.performRequest(ctx, x, &d, session, *text); held != nil {
		s.askThroughLibrary(x, held)
		return true
	}
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(len(*text)))
	// The write fails if the client has gone.
	_, _ = x.w.Write(*text)
	return true
}

// performRequest makes the call or the listing. It frees the id before the answer is
// written.
func (s *httpSurface) performRequest(ctx context.Context, x *httpExchange, d *directRequest, session string, out []byte) (answer []byte, held *sallyport.Result) {
	if x.session != nil {
		defer x.session.endRequest(d.key)
	}
	return s.server.answerDirectly(ctx, s.server.overHTTP, s.server.callerFor(x.principal, d, session), d, out)
}

// askThroughLibrary hands a held call with its result to the library.
func (s *httpSurface) askThroughLibrary(x *httpExchange, held *sallyport.Result) {
	word := s.server.early.storeResult(*held)
	defer s.server.early.popResult(word)
	body := x.message.withResultWord(word)
	x.r.Body, x.r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s.passToLibrary(x)
}

// isRegular reports whether the library would pass a request on to its method:
// the headers are complete and agree with the body.
func (s *httpSurface) isRegular(x *httpExchange, d *directRequest) bool {
	h := x.r.Header
	if len(h.Values("Last-Event-Id")) > 0 || !isJSON(h.Get("Content-Type")) || !acceptsBoth(h.Values("Accept")) {
		return false
	}
	version := h.Get("Mcp-Protocol-Version")
	if !x.stateless {
		return x.session != nil && x.session.older && !(d.tool != "" && x.session.messages.Load()) && d.version == "" && (version == "" || slices.Contains(s.versions, version))
	}
	return version == statelessSince && d.version == statelessSince && h.Get("Mcp-Method") == x.message.method &&
		(d.tool == "" || h.Get("Mcp-Name") == d.tool)
}

// passToLibrary hands a request to the library. A cancellation that the library
// accepts also cancels direct calls, and a request with the id of a pending
// direct call is refused. The server does not know which ids are pending in the
// library. A client that uses the id of a call with progress for another call
// at the same time gets both answers.
func (s *httpSurface) passToLibrary(x *httpExchange) {
	handler := s.older
	if x.stateless {
		handler = s.newer
	}
	if x.session == nil {
		handler.ServeHTTP(x.w, x.r)
		return
	}
	if id := x.message.id; id != nil && x.message.method != "" {
		if key := anyID(id); x.session.isInFlight(key) {
			x.writeFault(&messageFault{id: id, code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("duplicate in-flight request ID %v", key)})
			return
		}
	}
	if x.message.method != "notifications/cancelled" {
		handler.ServeHTTP(x.w, x.r)
		return
	}
	w := &statusRecorder{ResponseWriter: x.w}
	handler.ServeHTTP(w, x.r)
	if w.status == http.StatusAccepted {
		x.session.cancelRequest(anyID(valueOf(x.message.in, "requestId")))
	}
}

// writeFault answers with a fault.
func (x *httpExchange) writeFault(f *messageFault) { writeRefusal(x.w, f, x.stateless) }

// anyID decodes an id as the library does, with numbers as whole numbers. It
// returns nil for a value that is not an id.
func anyID(id json.RawMessage) any {
	var v any
	if json.Unmarshal(id, &v) != nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return int64(v)
	default:
		return nil
	}
}

// statusRecorder is a response writer that remembers the status code.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

// Unwrap is for http.ResponseController.
func (n *statusRecorder) Unwrap() http.ResponseWriter { return n.ResponseWriter }

func (n *statusRecorder) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}
