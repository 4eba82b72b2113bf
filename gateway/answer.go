package gateway

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/rawjson"
)

// appendHead appends the start of an answer to a request.
func appendHead(out []byte, id json.RawMessage) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	return append(out, id...)
}

// appendResult appends the encoded result in one pass. The text is the same as
// the library's encoding of [result].
func (s *Server) appendResult(out []byte, d *directRequest, res *sallyport.Result) []byte {
	begun := len(out)
	out = append(appendHead(out, d.id), `,"result":{"_meta":{`...)
	if d.version != "" {
		out = append(out, '"')
		out = append(out, mcp.MetaKeyServerInfo...)
		out = append(out, `":`...)
		out = append(append(out, s.identity...), ',')
	}
	if res.ApprovalID != "" {
		out = append(rawjson.AppendText(append(out, `"sallyport/approval_id":`...), res.ApprovalID), ',')
	}
	out = rawjson.AppendText(append(out, `"sallyport/call":`...), res.CallID)
	text := res.Value
	if !res.OK {
		text = codedText(*res)
		out = rawjson.AppendText(append(out, `,"sallyport/code":`...), string(res.Code))
	}
	out, err := appendRare(out, res)
	out = appendContent(append(out, `},"content":`...), text, res.Parts)
	if res.Structured != nil && err == nil {
		var structured []byte
		structured, err = json.Marshal(res.Structured)
		out = append(append(out, `,"structuredContent":`...), structured...)
	}
	if err != nil {
		// The gate returns plain JSON. If it does not, the fault is the gate's.
		return appendFault(out[:begun], d.id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be encoded"})
	}
	if !res.OK {
		out = append(out, `,"isError":true`...)
	}
	if d.version != "" {
		out = append(out, `,"resultType":"complete"`...)
	}
	return append(out, `}}`...)
}

// appendRare appends the _meta members that few results have.
func appendRare(out []byte, res *sallyport.Result) ([]byte, error) {
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

// appendPage appends the answer to a listing; page is its encoded text.
func (s *Server) appendPage(out []byte, d *directRequest, page []byte) []byte {
	out = append(appendHead(out, d.id), `,"result":{`...)
	if d.version != "" {
		out = append(out, `"resultType":"complete","_meta":{"`+mcp.MetaKeyServerInfo+`":`...)
		out = append(append(out, s.identity...), `},`...)
	}
	return append(append(out, page[1:]...), '}')
}

// appendFault appends an error answer.
func appendFault(out []byte, id json.RawMessage, e *jsonrpc.Error) []byte {
	out = append(appendHead(out, id), `,"error":{"code":`...)
	out = append(strconv.AppendInt(out, e.Code, 10), `,"message":`...)
	return append(rawjson.AppendText(out, e.Message), `}}`...)
}
