package upstream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/schema"
)

// serverRequest is what a call asks of a server.
type serverRequest struct {
	method string
	// name is the value that headers repeat: the name of a tool or a prompt, or
	// a URI.
	name string
	// params holds the members of the parameters, without _meta; answers holds
	// the members that answer the server's questions.
	params, answers []byte
	// able is the value of the client's capabilities, in the protocol
	// generation that sends them with each request; nil means none.
	able []byte
	// args are the arguments; headers lists those that are repeated in headers.
	args    json.RawMessage
	headers []schema.Header
	// trace is the traceparent of the call; empty where the server is told none.
	trace string
}

func toolCall(name string, args json.RawMessage, headers []schema.Header) (*serverRequest, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	b := bytes.NewBuffer(make([]byte, 0, len(name)+len(args)+32))
	b.WriteString(`"name":`)
	b.Write(rawjson.AppendText(b.AvailableBuffer(), name))
	b.WriteString(`,"arguments":`)
	// On a pipe a message is one line.
	if err := json.Compact(b, args); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	return &serverRequest{method: "tools/call", name: name, params: b.Bytes(), args: args, headers: headers}, nil
}

func promptGet(name string, args map[string]string) (*serverRequest, error) {
	text, err := json.Marshal(struct {
		Arguments map[string]string `json:"arguments,omitempty"`
		Name      string            `json:"name"`
	}{args, name})
	if err != nil {
		return nil, err
	}
	return &serverRequest{method: "prompts/get", name: name, params: text[1 : len(text)-1]}, nil
}

func resourceRead(uri string) *serverRequest {
	return &serverRequest{method: "resources/read", name: uri, params: rawjson.AppendText([]byte(`"uri":`), uri)}
}

// appendParams appends the parameters with their _meta.
func (r *serverRequest) appendParams(b []byte, token string, meta []byte) []byte {
	b = append(b, `{"_meta":{"progressToken":`...)
	b = rawjson.AppendText(b, token)
	if r.trace != "" {
		b = rawjson.AppendText(append(b, `,"traceparent":`...), r.trace)
	}
	if b = append(b, meta...); len(meta) > 0 {
		b = rawjson.AppendText(append(b, ','), mcp.MetaKeyClientCapabilities)
		b = append(append(b, ':'), cmp.Or(string(r.able), "{}")...)
	}
	b = append(b, '}', ',')
	b = append(b, r.params...)
	b = append(b, r.answers...)
	return append(b, '}')
}

// encodeMessage returns the request as it is sent, including the end of its line.
func (r *serverRequest) encodeMessage(id int64, token string, meta []byte) []byte {
	b := make([]byte, 0, len(r.params)+len(meta)+len(token)+128)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"`...)
	b = append(b, r.method...)
	b = append(b, `","params":`...)
	b = r.appendParams(b, token, meta)
	return append(b, '}', '\n')
}

// metaOf returns the _meta members of each request, except the token and the
// client's capabilities. Only the generation without sessions has such members;
// the others send this information once.
func metaOf(version, program string) []byte {
	if version < stateless {
		return nil
	}
	b := append([]byte{','}, rawjson.AppendText(nil, mcp.MetaKeyProtocolVersion)...)
	b = rawjson.AppendText(append(b, ':'), version)
	b = rawjson.AppendText(append(b, ','), mcp.MetaKeyClientInfo)
	b = rawjson.AppendText(append(b, `:{"name":"sallyport","version":`...), program)
	return append(b, '}')
}

// stateless is the first version of the protocol without sessions.
const stateless = "2026-07-28"
