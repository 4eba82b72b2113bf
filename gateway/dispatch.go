package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// The methods of the protocol.
const (
	methodInitialize  = "initialize"
	methodPing        = "ping"
	methodSetLevel    = "logging/setLevel"
	methodDiscover    = "server/discover"
	methodListTools   = "tools/list"
	methodCallTool    = "tools/call"
	methodListPrompts = "prompts/list"
	methodGetPrompt   = "prompts/get"
	methodComplete    = "completion/complete"
	methodList        = "resources/list"
	methodTemplates   = "resources/templates/list"
	methodRead        = "resources/read"
	methodFollow      = "resources/subscribe"
	methodUnfollow    = "resources/unsubscribe"
	methodListen      = "subscriptions/listen"
	methodTaskGet     = "tasks/get"
	methodTaskUpdate  = "tasks/update"
	methodTaskCancel  = "tasks/cancel"

	methodInitialized = "notifications/initialized"
	methodCancelled   = "notifications/cancelled"
	methodProgress    = "notifications/progress"
	methodRoots       = "notifications/roots/list_changed"
	methodMessage     = "notifications/message"
)

// generation says which protocols have a method.
type generation int

const (
	noProtocol generation = iota
	anyProtocol
	withSessions    // before 2026-07-28
	withoutSessions // since then
)

// requests holds the protocols that have a request, and the handler that appends
// its result.
var requests = map[string]struct {
	in     generation
	answer func(c *core, ctx context.Context, r *request, out []byte) ([]byte, error)
}{
	methodInitialize:  {withSessions, (*core).initialize},
	methodPing:        {withSessions, (*core).answerPing},
	methodSetLevel:    {withSessions, (*core).setLevel},
	methodFollow:      {withSessions, (*core).followResource},
	methodUnfollow:    {withSessions, (*core).unfollowResource},
	methodDiscover:    {withoutSessions, (*core).discover},
	methodListen:      {withoutSessions, (*core).listen},
	methodTaskGet:     {withoutSessions, (*core).answerTask},
	methodTaskUpdate:  {withoutSessions, (*core).answerTask},
	methodTaskCancel:  {withoutSessions, (*core).answerTask},
	methodListTools:   {anyProtocol, (*core).listTools},
	methodCallTool:    {anyProtocol, (*core).callTool},
	methodListPrompts: {anyProtocol, (*core).listPrompts},
	methodGetPrompt:   {anyProtocol, (*core).getPrompt},
	methodComplete:    {anyProtocol, (*core).completeArgument},
	methodList:        {anyProtocol, (*core).listResources},
	methodTemplates:   {anyProtocol, (*core).listTemplates},
	methodRead:        {anyProtocol, (*core).readResource},
}

// isNotification reports whether a client sends a method without waiting for an
// answer.
func isNotification(method string) bool {
	switch method {
	case methodInitialized, methodCancelled, methodProgress, methodRoots:
		return true
	default:
		return false
	}
}

// needsSession reports whether a request may come only after initialize.
func needsSession(method string) bool { return method != methodInitialize && method != methodPing }

// answersAtOnce reports whether the answer to a request is one text, unless
// something has to be sent before it.
func answersAtOnce(method string) bool { return method == methodCallTool || method == methodListTools }

// maxMessageBytes bounds one message. The arguments may take 8 MiB, and the
// envelope is small.
const maxMessageBytes = 9 << 20

// openMessage reads a message strictly: what it says must not depend on the
// reader. The error is a *jsonrpc.Error; the id of the message is set with it when
// it could be read.
func openMessage(text []byte) (wire.Message, error) {
	m, err := wire.Open(text)
	if err != nil {
		return m, err
	}
	if err := checkMessage(&m, len(text)); err != nil {
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	}
	switch {
	case m.Method == "", m.ID == nil, requests[m.Method].in != noProtocol:
		return m, nil
	case isNotification(m.Method):
		return m, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("the notification %q has an id", m.Method)}
	default:
		return m, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered", m.Method)}
	}
}

// maxKeptMessage bounds a message of which something is kept for as long as a
// session or a stream of changes is open.
const maxKeptMessage = 64 << 10

// checkMessage refuses a message that is too long for its method, whose name or URI
// is not a string, or that can be read in two ways.
func checkMessage(m *wire.Message, length int) error {
	key, what := "name", "name of the tool"
	switch m.Method {
	case methodInitialize, methodListen:
		if length > maxKeptMessage {
			return fmt.Errorf("%s is longer than %d bytes", m.Method, maxKeptMessage)
		}
		return nil
	case methodCallTool:
	case methodGetPrompt:
		what = "name of the prompt"
		if _, err := wire.ReadObject(m.In.Value("arguments")); err != nil {
			return err
		}
	case methodRead:
		key, what = "uri", "uri"
	case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		key, what = "taskId", "taskId"
	default:
		return nil
	}
	if text := m.In.Value(key); len(text) == 0 || text[0] != '"' {
		return fmt.Errorf("the %s must be a string", what)
	}
	return wire.CheckAnswers(m.In.Value("inputResponses"))
}

// answerRequest appends the answer to a request. refused is the error that it says,
// or nil.
func (c *core) answerRequest(ctx context.Context, r *request, out []byte) (answer []byte, refused *jsonrpc.Error) {
	answer, err := c.dispatch(ctx, r, append(wire.AppendHead(out, r.ID), `,"result":`...))
	if err == nil {
		return append(answer, '}'), nil
	}
	if !errors.As(err, &refused) {
		c.o.Logger.Error("a request was not answered", "method", r.Method, "error", err)
		refused = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the request failed"}
	}
	return wire.AppendError(out, r.ID, refused), refused
}

// dispatch hands a request to the handler of its method, which appends the result.
func (c *core) dispatch(ctx context.Context, r *request, out []byte) ([]byte, error) {
	if err := r.readClient(); err != nil {
		return out, err
	}
	q, known := requests[r.Method]
	switch {
	case !known:
		return out, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered", r.Method)}
	case q.in == withSessions && r.rounds, q.in == withoutSessions && !r.rounds:
		return out, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method not found: %q", r.Method)}
	}
	return q.answer(c, ctx, r, out)
}

// cancelledID returns the id of the request that a notification cancels, in
// comparable form. It returns nil when there is none.
func cancelledID(m *wire.Message) any { return wire.IDKey(json.RawMessage(m.In.Value("requestId"))) }
