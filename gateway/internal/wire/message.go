// Package wire reads and writes the messages of the Model Context Protocol. It
// knows their form and nothing of sessions, callers or methods.
//
// Start with [Open], which reads a message once and strictly from its bytes. Two
// readers of the same bytes must not understand different things: a key that is
// repeated is refused, and a key in another case is another key. The arguments of
// a call are not checked here: the gate decodes them itself and answers with a
// result that is recorded.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/internal/text"
)

// Message is one message, taken apart. Its slices are parts of the text that was
// read.
type Message struct {
	// ID is the id as it is repeated in the answer. It is nil for a notification
	// and in a fault whose id could not be read.
	ID json.RawMessage
	// Method is empty for a response.
	Method string
	// Params is nil when there are none.
	Params json.RawMessage
	// Version is the protocol that the message itself names; mostly empty.
	Version string
	// Result and Error are those of a response. One of them is nil.
	Result, Error json.RawMessage
	// In are the members of the parameters, Meta those of their _meta.
	In, Meta Members
}

// Member is one key of an object with its value, as it stands in the message.
type Member struct {
	// Key is decoded.
	Key []byte
	// Value is the text of the value.
	Value json.RawMessage
}

// Members are the members of one object.
type Members []Member

// Value returns the value of a key, or nil when it is absent.
func (all Members) Value(key string) json.RawMessage {
	for i := range all {
		if string(all[i].Key) == key {
			return all[i].Value
		}
	}
	return nil
}

// Text returns the text of a key whose value is a string, and "" for an absent or
// null value. The error is meant for the client.
func (all Members) Text(key string) (string, error) {
	value := all.Value(key)
	if value == nil || value[0] == 'n' {
		return "", nil
	}
	text, ok := DecodeString(value)
	if !ok {
		return "", Invalid(key + " must be a string")
	}
	return text, nil
}

// Object returns the members of a key whose value is an object, and none for an
// absent or null one.
func (all Members) Object(key string) (Members, error) {
	of, err := ReadObject(all.Value(key))
	if err != nil {
		return nil, Invalid(key + ": " + err.Error())
	}
	return of, nil
}

// Invalid returns the error for parameters that do not fit.
func Invalid(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: text}
}

func invalidRequest(text string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
}

// Open reads one message. The error is a *jsonrpc.Error; only the id of the message is
// set then.
func Open(text []byte) (Message, error) {
	top, refused := openObject(text)
	if refused != nil {
		return Message{}, refused
	}
	var m Message
	if id := top.Value("id"); id != nil {
		if !usableID(id) {
			return Message{}, invalidRequest("the id must be a string or a whole number")
		}
		m.ID = plainID(id)
	}
	if err := m.readMembers(top); err != nil {
		if top.Value("method") == nil && top.Value("result") != nil {
			m.ID = nil // the id of a question of this server; the client's ids differ
		}
		return Message{ID: m.ID}, invalidRequest(err.Error())
	}
	return m, nil
}

// openObject returns the members of a message.
func openObject(message []byte) (Members, error) {
	text := rawjson.Blank(message)
	switch {
	case !json.Valid(message):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the message is not JSON"}
	case text[0] == '[':
		return nil, invalidRequest("batches are not supported")
	case text[0] != '{':
		return nil, invalidRequest("the message is not an object")
	}
	top, err := appendMembers(make(Members, 0, usual), text)
	if err != nil {
		return nil, invalidRequest(err.Error())
	}
	return top, nil
}

// readMembers reads the members of a message.
func (m *Message) readMembers(top Members) error {
	if string(top.Value("jsonrpc")) != `"2.0"` {
		return errors.New(`the member jsonrpc must be "2.0"`)
	}
	method := top.Value("method")
	if method == nil {
		m.Result, m.Error = top.Value("result"), top.Value("error")
		if m.ID == nil || m.Result == nil && m.Error == nil {
			return errors.New("the message is no request, notification or response")
		}
		return CheckAnswer(m.Result)
	}
	var ok bool
	if m.Method, ok = DecodeString(method); !ok || m.Method == "" {
		return errors.New("the method must be a string")
	}
	m.Params = top.Value("params")
	return m.readParameters(top)
}

// readParameters reads the parameters and the protocol version that they name.
func (m *Message) readParameters(top Members) error {
	all, err := appendMembers(top, m.Params)
	if err != nil {
		return err
	}
	m.In = all[len(top):]
	if all, err = appendMembers(all, m.In.Value("_meta")); err != nil {
		return err
	}
	m.Meta = all[len(top)+len(m.In):]
	if v := m.Meta.Value(mcp.MetaKeyProtocolVersion); v != nil && string(v) != "null" {
		var ok bool
		if m.Version, ok = DecodeString(v); !ok {
			return fmt.Errorf("_meta %s must be a string", mcp.MetaKeyProtocolVersion)
		}
	}
	return nil
}

// IDKey returns an id in comparable form: a string or a whole number. It returns
// nil for a value that is not an id.
func IDKey(id json.RawMessage) any {
	if len(id) == 0 {
		return nil
	}
	if text, ok := DecodeString(id); ok {
		return text
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil {
		return n
	}
	return nil
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

// plainID returns an id as it is repeated in the answer. A string may hold bytes
// that are not UTF-8, which no answer may repeat.
func plainID(id json.RawMessage) json.RawMessage {
	if string(id) == "-0" {
		return json.RawMessage("0")
	}
	if id[0] != '"' {
		return id
	}
	if _, ok := PlainText(id); ok {
		return id
	}
	text, _ := DecodeString(id)
	return rawjson.AppendText(nil, text)
}

// DecodeString decodes a string in valid JSON text. ok is false for any other value.
func DecodeString(value json.RawMessage) (text string, ok bool) {
	if text, ok = PlainText(value); ok {
		return text, true
	}
	if len(value) == 0 || value[0] != '"' {
		return "", false
	}
	return text, json.Unmarshal(value, &text) == nil
}

// PlainText returns the text of a string that needs no decoding: printable ASCII
// without escapes.
func PlainText(value json.RawMessage) (text string, ok bool) {
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

const (
	// usual is a number of members that a message, its parameters and their
	// _meta rarely exceed.
	usual = 20
	// mostMembers is about ten times what the protocol defines for any object.
	mostMembers = 100
)

// ReadObject returns the members of an object in valid JSON text, without looking
// into their values. Two equal keys are an error, even if they are escaped
// differently. An absent or null object has no members. Any other value is an
// error.
func ReadObject(object []byte) (Members, error) { return appendMembers(nil, object) }

func appendMembers(to Members, object []byte) (Members, error) {
	switch {
	case len(object) == 0 || object[0] == 'n':
		return to, nil
	case object[0] != '{':
		return nil, errors.New("params and _meta must be objects")
	}
	first := len(to)
	for rest := rawjson.Blank(object[1:]); rest[0] != '}'; {
		key, value, after, err := rawjson.Next(rest)
		switch {
		case err != nil:
			return nil, err
		case to[first:].Value(string(key)) != nil:
			return nil, fmt.Errorf("the key %q is repeated", clipWord(string(key)))
		case len(to)-first == mostMembers:
			return nil, errors.New("an object has too many members")
		}
		to, rest = append(to, Member{key, value}), after
	}
	return to, nil
}

// clipWord shortens a word of the client for an error message to the client.
func clipWord(s string) string { return text.FirstBytes(s, 64) }

// AppendHead appends the start of an answer to a request.
func AppendHead(out []byte, id json.RawMessage) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		// JSON-RPC 2.0 section 5 requires it when the id could not be read.
		return append(out, "null"...)
	}
	return append(out, id...)
}

// AppendError appends an error answer.
func AppendError(out []byte, id json.RawMessage, e *jsonrpc.Error) []byte {
	out = append(AppendHead(out, id), `,"error":{"code":`...)
	out = append(strconv.AppendInt(out, e.Code, 10), `,"message":`...)
	out = rawjson.AppendText(out, e.Message)
	if len(e.Data) > 0 {
		out = append(append(out, `,"data":`...), e.Data...)
	}
	return append(out, `}}`...)
}

// AppendJSON appends the encoding of a value as it stands, without escaping for HTML.
func AppendJSON(out []byte, v any) ([]byte, error) {
	text := bytes.NewBuffer(out)
	enc := json.NewEncoder(text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return out, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte{'\n'}), nil
}

// AppendCall appends a notification, or with an id a request, of this server. The
// error is that the parameters cannot be encoded.
func AppendCall(out []byte, id int64, method string, params any) ([]byte, error) {
	out = append(out, `{"jsonrpc":"2.0"`...)
	if id != 0 {
		out = strconv.AppendInt(append(out, `,"id":`...), id, 10)
	}
	out = rawjson.AppendText(append(out, `,"method":`...), method)
	out, err := AppendJSON(append(out, `,"params":`...), params)
	return append(out, '}'), err
}
