package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// executeMCP calls an action over MCP without a session. Every call of every
// client has the same id. It returns the answer in the terms of the API.
func executeMCP(ctx context.Context, c *http.Client, url, token, action, params string) (a actionAnswer, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+action+`","arguments":`+params+
			`,"_meta":{"sallyport/session":"s","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		return a, err
	}
	for _, h := range [][2]string{
		{"Content-Type", "application/json"},
		{"Accept", "application/json, text/event-stream"},
		{"Authorization", "Bearer " + token},
		{"Mcp-Protocol-Version", "2026-07-28"},
		{"Mcp-Method", "tools/call"},
		{"Mcp-Name", action},
	} {
		r.Header.Set(h[0], h[1])
	}
	res, err := c.Do(r)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	if res.StatusCode != http.StatusOK {
		return actionAnswer{Status: res.StatusCode, Error: string(text)}, nil
	}
	return fromMCP(text)
}

// fromMCP reads an answer, as JSON or as the last event of a stream.
func fromMCP(text []byte) (a actionAnswer, err error) {
	if i := bytes.LastIndex(text, []byte("data: ")); i >= 0 {
		text, _, _ = bytes.Cut(text[i+len("data: "):], []byte("\n"))
	}
	var out struct {
		ID     int `json:"id"`
		Result *struct {
			IsError    bool            `json:"isError"`
			Structured json.RawMessage `json:"structuredContent"`
			Content    []struct{ Text string }
			Meta       struct {
				Code string `json:"sallyport/code"`
			} `json:"_meta"`
		} `json:"result"`
	}
	switch err := json.Unmarshal(text, &out); {
	case len(text) == 0:
		return a, errors.New("the stream ended without an answer")
	case err != nil || out.ID != 1 || out.Result == nil:
		return actionAnswer{Status: http.StatusOK, Error: string(text)}, fmt.Errorf("no answer of this call: %s", text)
	}
	a = actionAnswer{Status: http.StatusOK, Success: !out.Result.IsError, Data: out.Result.Structured, Code: out.Result.Meta.Code}
	if len(out.Result.Content) > 0 {
		a.Error = out.Result.Content[0].Text
	}
	switch a.Code {
	case "":
	case "rate_limited":
		a.Status = http.StatusTooManyRequests
	default:
		a.Status = http.StatusBadGateway
	}
	return a, nil
}
