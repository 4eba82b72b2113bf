package gateway

import (
	"errors"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// httpExchange is one POST whose message has been read, and its answer.
type httpExchange struct {
	request
	w      http.ResponseWriter
	r      *http.Request
	ends   func()      // frees the id before the answer is written; nil when there is nothing to free
	events eventStream // the carrier: an event before the answer makes that a stream
}

// finish writes the answer: as the last event of a stream, or as one text. In a
// protocol without sessions some errors have a status of their own.
func (x *httpExchange) finish(answer []byte, refused *jsonrpc.Error) {
	if x.ends != nil {
		x.ends() // the client may use the id again as soon as it reads the answer
	}
	status := http.StatusOK
	if refused != nil && x.rounds {
		status = statusOf(refused)
	}
	if x.events.end(answer, x.streams && status == http.StatusOK) {
		return
	}
	x.writeText(status, answer)
}

// refuse answers a message that did not become a request.
func (x *httpExchange) refuse(refused *jsonrpc.Error) {
	status := http.StatusBadRequest
	if refused.Code == jsonrpc.CodeMethodNotFound {
		// With sessions this is an ordinary answer, because 404 there means that
		// the session is gone.
		status = http.StatusOK
		if x.rounds {
			status = http.StatusNotFound
		}
	}
	x.writeText(status, wire.AppendError(nil, x.ID, refused))
}

func (x *httpExchange) writeText(status int, answer []byte) {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Length", strconv.Itoa(len(answer)))
	x.w.WriteHeader(status)
	// The write fails if the client has gone.
	_, _ = x.w.Write(answer)
}

// statusOf returns the status that the protocol without sessions requires for an
// error.
func statusOf(refused *jsonrpc.Error) int {
	switch refused.Code {
	case jsonrpc.CodeMethodNotFound:
		return http.StatusNotFound
	case jsonrpc.CodeInvalidParams, mcp.CodeUnsupportedProtocolVersion, mcp.CodeMissingRequiredClientCapabilities:
		return http.StatusBadRequest
	default:
		return http.StatusOK
	}
}

// eventStream is an answer that is a stream of server-sent events. It is safe for
// concurrent use.
type eventStream struct {
	w http.ResponseWriter

	mu    sync.Mutex
	begun bool
	over  bool
}

// errOver is the error for an event after the end of its stream.
var errOver = errors.New("gateway: the stream has ended")

// begin sends the head of a stream before its first event. It sends a comment along,
// because some proxies hold a head back until data follow.
func (e *eventStream) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writeLocked([]byte(": ok\n\n"))
}

func (e *eventStream) send(text []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return errOver
	}
	return e.writeEventLocked(text)
}

// end ends the stream with a last event. Unless the answer is one of a stream, it
// does so only when a stream has begun, and reports whether it did.
func (e *eventStream) end(last []byte, streams bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over = true; !streams && !e.begun {
		return false
	}
	// The write fails if the client has gone.
	_ = e.writeEventLocked(last)
	return true
}

func (e *eventStream) writeEventLocked(text []byte) error {
	const before, after = "event: message\ndata: ", "\n\n"
	event := make([]byte, 0, len(before)+len(text)+len(after))
	return e.writeLocked(append(append(append(event, before...), text...), after...))
}

func (e *eventStream) writeLocked(text []byte) error {
	if !e.begun {
		h := e.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache, no-transform")
		e.w.WriteHeader(http.StatusOK)
		e.begun = true
	}
	if _, err := e.w.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(e.w).Flush()
}
