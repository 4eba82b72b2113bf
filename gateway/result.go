package gateway

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/rawjson"
	"github.com/sallyport/sallyport/internal/text"
)

// appendObject appends a result that has no _meta of its own.
func (c *core) appendObject(out []byte, r *request, v any) ([]byte, error) {
	text, err := wire.AppendJSON(nil, v)
	if err != nil {
		return out, err
	}
	return c.appendEncoded(out, r, text), nil
}

// appendEncoded appends an encoded result that has no _meta of its own.
func (c *core) appendEncoded(out []byte, r *request, text []byte) []byte {
	if !r.rounds {
		return append(out, text...)
	}
	out = c.appendServer(append(out, `{"resultType":"complete","_meta":{`...))
	if out = append(out, '}'); len(text) > len("{}") {
		out = append(out, ',')
	}
	return append(out, text[1:]...)
}

// appendServer appends the member of _meta that names the server.
func (c *core) appendServer(out []byte) []byte {
	out = append(out, '"')
	out = append(out, mcp.MetaKeyServerInfo...)
	return append(append(out, `":`...), c.identity...)
}

// appendMeta appends the _meta of a result: the facts about a call for which the
// protocol has no field, and in a protocol without sessions the server.
func (c *core) appendMeta(out []byte, rounds bool, res *sallyport.Result) ([]byte, error) {
	out = append(out, `"_meta":{`...)
	if rounds {
		out = c.appendServer(out)
		if res != nil {
			out = append(out, ',')
		}
	}
	var err error
	if res != nil {
		out, err = appendFacts(out, res)
	}
	return append(out, '}'), err
}

// appendFacts appends the facts about a call as members, sorted by key.
func appendFacts(out []byte, res *sallyport.Result) ([]byte, error) {
	if res.ApprovalID != "" {
		out = append(rawjson.AppendText(append(out, `"sallyport/approval_id":`...), res.ApprovalID), ',')
	}
	out = rawjson.AppendText(append(out, `"sallyport/call":`...), res.CallID)
	if !res.OK {
		out = rawjson.AppendText(append(out, `,"sallyport/code":`...), string(res.Code))
	}
	if res.CostUSD != 0 {
		cost, err := json.Marshal(res.CostUSD)
		if err != nil {
			return out, err
		}
		out = append(append(out, `,"sallyport/cost_usd":`...), cost...)
	}
	if !res.ExpiresAt.IsZero() {
		at, err := json.Marshal(res.ExpiresAt)
		if err != nil {
			return out, err
		}
		out = append(append(out, `,"sallyport/expires_at":`...), at...)
	}
	if res.Code == sallyport.CodeRateLimited {
		out = append(out, `,"sallyport/retry_after_ms":`...)
		out = strconv.AppendInt(out, res.RetryAfter.Milliseconds(), 10)
	}
	return out, nil
}

// appendToolResult appends the result of a tool in one pass. A refusal or a failure
// is a result with isError, never an error of the protocol, so that the model reads
// it.
func (c *core) appendToolResult(out []byte, rounds bool, res *sallyport.Result) ([]byte, error) {
	out, err := c.appendMeta(append(out, '{'), rounds, res)
	shown := res.Value
	if !res.OK {
		shown = codedText(res)
	}
	out = wire.AppendContent(append(out, `,"content":`...), shown, res.Parts)
	if res.Structured != nil && err == nil {
		out, err = rawjson.AppendValue(append(out, `,"structuredContent":`...), res.Structured)
	}
	if err != nil {
		// The gate returns plain JSON. If it does not, the fault is the gate's.
		return out, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be encoded"}
	}
	if !res.OK {
		out = append(out, `,"isError":true`...)
	}
	return appendEnd(out, rounds), nil
}

// appendEnd ends a result that is complete.
func appendEnd(out []byte, rounds bool) []byte {
	if rounds {
		out = append(out, `,"resultType":"complete"`...)
	}
	return append(out, '}')
}

// questionForm is the rest of a result that asks the client.
type questionForm struct {
	State    string              `json:"requestState,omitempty"`
	Type     string              `json:"resultType"`
	Requests mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// appendQuestion appends the result of a round in which the client has to answer.
// empty are the members that the method's result requires, without a value.
func (c *core) appendQuestion(out []byte, empty string, asked *clientQuestion, res *sallyport.Result) ([]byte, error) {
	if res.CallID == "" {
		res = nil // the call has not ended
	}
	out, err := c.appendMeta(append(out, '{'), true, res)
	if err != nil {
		return out, err
	}
	text, err := wire.AppendJSON(nil, questionForm{State: asked.state, Type: "input_required", Requests: asked.requests})
	if err != nil {
		return out, err
	}
	out = append(append(out, ','), empty...)
	return append(append(out, ','), text[1:]...), nil
}

// failureError converts a failure into a protocol error, for methods whose results
// cannot express one. A code of 0 means the code that fits the failure.
func failureError(res *sallyport.Result, code int64) error {
	if code == 0 {
		code = jsonrpc.CodeInternalError
		if res.Code == sallyport.CodeInputInvalid {
			code = jsonrpc.CodeInvalidParams
		}
	}
	data, err := appendFacts([]byte{'{'}, res)
	if data = append(data, '}'); err != nil {
		data = nil // the gate's results always marshal
	}
	return &jsonrpc.Error{Code: code, Message: codedText(res), Data: data}
}

// codedText returns the text of a failure with its code in front and the id of the
// call below it, which no model finds in _meta. A plain tool failure and a text that
// already begins with an accessor's code get no code.
func codedText(res *sallyport.Result) string {
	failure := res.Error
	if res.Code != sallyport.CodeExecutionFailed && !strings.HasPrefix(failure, string(res.Code)+":") {
		failure = string(res.Code) + ": " + failure
	}
	return text.AddCallID(failure, res.CallID)
}
