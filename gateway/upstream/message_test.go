package upstream

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/schema"
)

// TestWhatIsNoAnswer is refused: two readers could take different values of a
// repeated member.
func TestWhatIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[]`, `1`, `null`, `{}`, `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1.5e400,"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"result":{}}`,
		`{"jsonrpc":"2.0","id":1,"result":{},"res\u0075lt":{}}`, `{"jsonrpc":"2.0","id":1,"error":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"1.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":"text"}`,
	} {
		if m, err := decodeMessage([]byte(text)); err == nil {
			t.Errorf("decode(%s) = %+v, want an error", text, m)
		}
	}
}

// FuzzMessage: a message is decoded as the library decodes it.
func FuzzMessage(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1000000000,"result":{"content":[{"type":"text","text":"\"}{"}]}}`,
		` { "jsonrpc" : "2.0" , "id" : 1.0 , "other" : [ { } , "]" ] , "error" : { "code" : -32601 , "message" : "no" , "data" : 1 } } `,
		`{"jsonrpc":"2.0","id":"a","result":1}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`,
		`{"jsonrpc":"2.0","id":-1,"result":null,"error":null}`, `{"jsonrpc":"2.0","\u0069d":7,"result":[]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		got, err := decodeMessage(text)
		if err != nil {
			return
		}
		want, err := jsonrpc.DecodeMessage(text)
		if err != nil {
			t.Fatalf("decode(%q) = %+v, the library fails: %v", text, got, err)
		}
		if diff := cmp.Diff(spelled(t, want), spelled(t, got)); diff != "" {
			t.Errorf("decode(%q) (-the library, +here):\n%s", text, diff)
		}
	})
}

// spelled returns a message as a value.
func spelled(t *testing.T, m jsonrpc.Message) any {
	text, err := jsonrpc.EncodeMessage(m)
	var v any
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRequestsAreThoseOfTheLibrary of both generations.
func TestRequestsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	const name = "odd \"name\" <\u2028é\\"
	call, err := toolCall(name, json.RawMessage("{\"a\": \"<b>\",\n \"n\": 1e3}"), nil)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := promptGet(name, map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	for version, more := range map[string]mcp.Meta{"2025-11-25": {}, "2026-07-28": {
		mcp.MetaKeyProtocolVersion: "2026-07-28", mcp.MetaKeyClientInfo: &mcp.Implementation{Name: "sallyport", Version: "v1"},
		mcp.MetaKeyClientCapabilities: object{},
	}} {
		more["progressToken"] = "the call"
		for _, tt := range []struct {
			r      *serverRequest
			params any
		}{
			{call, &mcp.CallToolParams{Meta: more, Name: name, Arguments: json.RawMessage(`{"a":"<b>","n":1e3}`)}},
			{prompt, &mcp.GetPromptParams{Meta: more, Name: name, Arguments: map[string]string{"a": "b"}}},
			{resourceRead(name), &mcp.ReadResourceParams{Meta: more, URI: name}},
		} {
			params, err := json.Marshal(tt.params)
			if err != nil {
				t.Fatal(err)
			}
			id, err := jsonrpc.MakeID(7.0)
			if err != nil {
				t.Fatal(err)
			}
			got, err := jsonrpc.DecodeMessage(tt.r.encodeMessage(7, "the call", metaOf(version, "v1")))
			if err != nil {
				t.Fatal(err)
			}
			want := &jsonrpc.Request{ID: id, Method: tt.r.method, Params: params}
			if diff := cmp.Diff(spelled(t, want), spelled(t, got)); diff != "" {
				t.Errorf("%s of %s (-the library, +here):\n%s", tt.r.method, version, diff)
			}
		}
	}
	if text := call.encodeMessage(1, "x", nil); bytes.IndexByte(text, '\n') != len(text)-1 {
		t.Errorf("the request is %q, want one line", text)
	}
}

type object = map[string]any

// TestHeaderOfAnArgument is what the protocol says of each kind of value.
func TestHeaderOfAnArgument(t *testing.T) {
	t.Parallel()
	r, err := toolCall("a", json.RawMessage(`{"text":"north","yes":true,"n":42,"in":{"n":-7},"half":1.5,"large":9007199254740993,"odd":"é","space":" a","like":"=?base64?YQ==?=","null":null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path []string
		want string
	}{
		{[]string{"text"}, "north"},
		{[]string{"yes"}, "true"},
		{[]string{"n"}, "42"},
		{[]string{"in", "n"}, "-7"},
		{[]string{"half"}, ""},
		{[]string{"large"}, ""},
		{[]string{"odd"}, "=?base64?w6k=?="},
		{[]string{"space"}, "=?base64?IGE=?="},
		{[]string{"like"}, "=?base64?PT9iYXNlNjQ/WVE9PT89?="},
		{[]string{"null"}, ""},
		{[]string{"absent"}, ""},
		{[]string{"text", "n"}, ""},
	} {
		r.headers = []schema.Header{{Name: "Mcp-Param-X", Path: tt.path}}
		for version, want := range map[string]string{"2025-11-25": "", "2026-07-28": tt.want} {
			h := map[string][]string{versionHeader: {version}}
			r.setParamHeaders(h)
			if got := h["Mcp-Param-X"]; want == "" && got != nil || want != "" && (len(got) != 1 || got[0] != want) {
				t.Errorf("%v in %s = %q, want %q", tt.path, version, got, want)
			}
		}
	}
}
