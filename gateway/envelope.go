package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/rawjson"
)

// messageEnvelope is what a message says about itself, read strictly from the bytes
// before the protocol library decodes them. The library takes the last of two
// equal keys and stops after the first value. A proxy or another reader of the
// same bytes may have taken the other one, so both are refused. The arguments
// of a call are not checked here: the gate decodes them itself and answers with
// a result that is recorded.
type messageEnvelope struct {
	id      json.RawMessage // nil for a notification
	method  string          // "" for a response
	params  json.RawMessage // nil when there are none
	version string          // the protocol that the message itself names; mostly ""

	// The members of the message, of its parameters and of their _meta.
	top, in, meta []messageMember
}

// messageMember is one key of an object with its value, as it stands in the message.
type messageMember struct {
	key   []byte // decoded
	value json.RawMessage
}

// valueOf returns the value of a key, or nil when it is absent.
func valueOf(object []messageMember, key string) json.RawMessage {
	for i := range object {
		if string(object[i].key) == key {
			return object[i].value
		}
	}
	return nil
}

// messageFault is the reason to refuse a message before it becomes a request.
type messageFault struct {
	id   json.RawMessage // nil when it could not be read
	code int64
	text string
	data json.RawMessage // mostly nil
}

func (f *messageFault) Error() string { return f.text }

// encodeReply returns the answer to a message with a fault. JSON-RPC 2.0 section 5
// requires a null id when the id could not be read.
func (f *messageFault) encodeReply() []byte {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	// A string, a number and a checked id always marshal.
	text, _ := json.Marshal(faultReply{
		Version: "2.0", ID: id, Error: jsonrpc.Error{Code: f.code, Message: f.text, Data: f.data},
	})
	return text
}

type faultReply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   jsonrpc.Error   `json:"error"`
}

// isOffered reports whether the server answers a method.
func isOffered(method string) bool {
	switch method {
	case "initialize", "ping", "tools/list", "tools/call", "server/discover", "subscriptions/listen",
		"prompts/list", "prompts/get", "completion/complete", "logging/setLevel",
		"resources/list", "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
		"notifications/initialized", "notifications/cancelled", "notifications/progress",
		"notifications/roots/list_changed":
		return true
	default:
		return aboutTask(method)
	}
}

// openEnvelope reads the envelope of one message. The error is a *fault.
func openEnvelope(message []byte) (messageEnvelope, error) {
	var e messageEnvelope
	text := bytes.TrimLeft(message, " \t\r\n")
	switch {
	case !json.Valid(message):
		return e, &messageFault{code: jsonrpc.CodeParseError, text: "the message is not JSON"}
	case text[0] == '[':
		return e, &messageFault{code: jsonrpc.CodeInvalidRequest, text: "batches are not supported"}
	case text[0] != '{':
		return e, &messageFault{code: jsonrpc.CodeInvalidRequest, text: "the message is not an object"}
	}
	invalid := &messageFault{code: jsonrpc.CodeInvalidRequest}
	all, err := appendMembers(make([]messageMember, 0, usual), text)
	if err != nil {
		invalid.text = err.Error()
		return e, invalid
	}
	e.top = all
	if id := valueOf(all, "id"); id != nil {
		if !usableID(id) {
			invalid.text = "the id must be a string or a whole number"
			return e, invalid
		}
		e.id, invalid.id = id, id
	}
	if err := cmp.Or(e.readMembers(), e.checkLength(len(message))); err != nil {
		if invalid.text = err.Error(); valueOf(all, "method") == nil && valueOf(all, "result") != nil {
			invalid.id = nil // the id of a question of this server; the client's ids differ
		}
		return e, invalid
	}
	if e.id != nil && e.method != "" && !isOffered(e.method) {
		return e, &messageFault{id: e.id, code: jsonrpc.CodeMethodNotFound, text: fmt.Sprintf("method %q is not offered", e.method)}
	}
	if why := e.listensInVain(); why != nil {
		return e, &messageFault{id: e.id, code: why.Code, text: why.Message, data: why.Data}
	}
	return e, nil
}

// isIgnored reports whether a message is a notification that the server does not
// expect. It has no answer, not even an error.
func (e *messageEnvelope) isIgnored() bool {
	return e.id == nil && e.method != "" && !isOffered(e.method)
}

// isStateless reports whether the message names a protocol without sessions.
func (e *messageEnvelope) isStateless() bool { return e.version >= statelessSince }

// readMembers reads the members of a message into the envelope.
func (e *messageEnvelope) readMembers() error {
	if string(valueOf(e.top, "jsonrpc")) != `"2.0"` {
		return errors.New(`the member jsonrpc must be "2.0"`)
	}
	switch method := valueOf(e.top, "method"); {
	case method == nil && (e.id == nil || valueOf(e.top, "result") == nil && valueOf(e.top, "error") == nil):
		return errors.New("the message is no request, notification or response")
	case method == nil:
		return checkAnswer(valueOf(e.top, "result"))
	default:
		var ok bool
		if e.method, ok = decodeString(method); !ok || e.method == "" {
			return errors.New("the method must be a string")
		}
	}
	e.params = valueOf(e.top, "params")
	return e.readParameters()
}

// libraryRequest returns the message in the library's form. The library's own decoder
// would read the text twice more and keep a buffer each time.
func (e *messageEnvelope) libraryRequest() (*jsonrpc.Request, error) {
	r := &jsonrpc.Request{Method: e.method, Params: e.params}
	if e.id == nil {
		return r, nil
	}
	var id any
	if err := json.Unmarshal(e.id, &id); err != nil {
		return nil, err
	}
	var err error
	r.ID, err = jsonrpc.MakeID(id)
	return r, err
}

// readParameters reads the protocol version in the parameters of a request. It
// refuses parameters that repeat a key or whose tool name is not a string.
func (e *messageEnvelope) readParameters() error {
	all, err := appendMembers(e.top, e.params)
	if err != nil {
		return err
	}
	e.in = all[len(e.top):]
	if err := cmp.Or(e.checkName(), checkAnswers(valueOf(e.in, "inputResponses"))); err != nil {
		return err
	}
	if all, err = appendMembers(all, valueOf(e.in, "_meta")); err != nil {
		return err
	}
	e.meta = all[len(e.top)+len(e.in):]
	if v := valueOf(e.meta, mcp.MetaKeyProtocolVersion); v != nil && string(v) != "null" {
		var ok bool
		if e.version, ok = decodeString(v); !ok {
			return fmt.Errorf("_meta %s must be a string", mcp.MetaKeyProtocolVersion)
		}
	}
	return nil
}

// checkName refuses a call whose name or URI is not a string. It also refuses a
// prompt whose arguments repeat a key: the library decodes them into a map and
// would take the last of two equal ones.
func (e *messageEnvelope) checkName() error {
	key, what := "name", "name of the tool"
	switch e.method {
	case "tools/call":
	case "prompts/get":
		what = "name of the prompt"
		if _, err := appendMembers(nil, valueOf(e.in, "arguments")); err != nil {
			return err
		}
	case "resources/read":
		key, what = "uri", "uri"
	case methodTaskGet, methodTaskUpdate, methodTaskCancel:
		key, what = "taskId", "taskId"
	default:
		return nil
	}
	if text := valueOf(e.in, key); len(text) == 0 || text[0] != '"' {
		return fmt.Errorf("the %s must be a string", what)
	}
	return nil
}

// decodeString decodes a string in valid JSON text. ok is false for any other value.
func decodeString(value json.RawMessage) (text string, ok bool) {
	if text, ok = plainText(value); ok {
		return text, true
	}
	if value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// plainText returns the text of a string that every decoder reads in the same way:
// printable ASCII without escapes.
func plainText(value json.RawMessage) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	inside := value[1 : len(value)-1]
	for _, c := range inside {
		if c < ' ' || c > '~' || c == '\\' || c == '"' {
			return "", false
		}
	}
	return string(inside), true
}

// usableID accepts ids that every decoder passes on unchanged: strings and
// whole numbers that a double holds exactly (RFC 8259 section 6).
func usableID(id json.RawMessage) bool {
	if id[0] == '"' {
		return true
	}
	const most = 1<<53 - 1
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -most <= n && n <= most
}

const (
	// usual is a number of members that a message, its parameters and their
	// _meta rarely exceed.
	usual = 20
	// mostMembers is about ten times what the protocol defines for any object.
	mostMembers = 100
)

// appendMembers appends the members of an object in valid JSON text, without looking
// into their values. Two equal keys are an error, even if they are escaped
// differently. An absent or null object has no members. Any other value is an
// error.
func appendMembers(to []messageMember, object []byte) ([]messageMember, error) {
	switch {
	case len(object) == 0 || object[0] == 'n':
		return to, nil
	case object[0] != '{':
		return nil, errors.New("params and _meta must be objects")
	}
	first := len(to)
	for rest := rawjson.Blank(object[1:]); rest[0] != '}'; {
		m, after, err := nextMember(rest)
		switch {
		case err != nil:
			return nil, err
		case valueOf(to[first:], string(m.key)) != nil:
			return nil, fmt.Errorf("the key %q is repeated", clipWord(string(m.key)))
		case len(to)-first == mostMembers:
			return nil, errors.New("an object has too many members")
		}
		to, rest = append(to, m), after
	}
	return to, nil
}

// nextMember reads one member of an object and returns the text after it.
func nextMember(rest []byte) (m messageMember, after []byte, err error) {
	m.key, m.value, after, err = rawjson.Next(rest)
	return m, after, err
}

// clipWord shortens a word of the client for an error message to the client.
func clipWord(s string) string {
	const most = 64
	if len(s) > most {
		return s[:most]
	}
	return s
}
