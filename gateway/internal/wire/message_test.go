package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestMembers(t *testing.T) {
	tests := []struct {
		name   string
		object string
		want   map[string]string
		err    string
	}{
		{name: "empty", object: `{}`, want: map[string]string{}},
		{name: "absent", object: ``, want: map[string]string{}},
		{name: "null", object: `null`, want: map[string]string{}},
		{name: "array", object: `[1]`, err: "must be objects"},
		{
			name: "all kinds", object: "{ \"a\" :1.5e3 , \"b\":\"x,}\\\"]\",\n\"c\":{\"a\":[{}]},\"d\":[1,2],\t\"e\":true,\"f\":null}",
			want: map[string]string{"a": "1.5e3", "b": `"x,}\"]"`, "c": `{"a":[{}]}`, "d": "[1,2]", "e": "true", "f": "null"},
		},
		{name: "repeated", object: `{"a":1,"b":2,"a":3}`, err: `"a" is repeated`},
		{name: "repeated in another spelling", object: `{"name":1,"n\u0061me":2}`, err: `"name" is repeated`},
		{name: "repeated below", object: `{"a":{"b":1,"b":2}}`, want: map[string]string{"a": `{"b":1,"b":2}`}},
		{name: "other case is another key", object: `{"a":1,"A":2}`, want: map[string]string{"a": "1", "A": "2"}},
		{name: "too many", object: "{" + strings.Repeat(`"k":1,`, 200) + `"z":1}`, err: "repeated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ReadObject([]byte(tt.object))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("ReadObject(%s) = %v, want an error with %q", tt.object, err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			texts := map[string]string{}
			for _, m := range got {
				texts[string(m.Key)] = string(m.Value)
			}
			if diff := cmp.Diff(tt.want, texts); diff != "" {
				t.Errorf("ReadObject(%s) (-want +got):\n%s", tt.object, diff)
			}
		})
	}
}

func TestMembersAreBounded(t *testing.T) {
	object := map[string]int{}
	for i := range 101 {
		object[strings.Repeat("k", i)] = i
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadObject(text); err == nil {
		t.Error("ReadObject() of 101 members = nil error, want one")
	}
}

func TestUsableID(t *testing.T) {
	for id, want := range map[string]bool{
		`1`: true, `-1`: true, `"x"`: true, `9007199254740991`: true,
		`9007199254740992`: false, `1.0`: false, `1e2`: false, `null`: false, `true`: false, `{}`: false, `[1]`: false,
	} {
		if got := usableID(json.RawMessage(id)); got != want {
			t.Errorf("usableID(%s) = %v, want %v", id, got, want)
		}
	}
}

// FuzzOpen compares the envelope with encoding/json. An accepted message is one
// JSON object with the same members there. The answer to a fault is one JSON
// text on one line.
func FuzzOpen(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"id":1,"id":2}`, `{"id":1}{"id":2}`, `[{}]`, `"`, ``, ` {"a":[{"]":"\\"}],"method":"ping"} `, `{"id":1.5}`, `{"method":null}`,
		"{\"a\":\"\xff\"}", `{"\ud800":1,"\udc00":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		e, err := Open(message)
		if err != nil {
			refused := (*jsonrpc.Error)(nil)
			if !errors.As(err, &refused) {
				t.Fatalf("Open(%q) = %T, want a *jsonrpc.Error", message, err)
			}
			if text := AppendError(nil, e.ID, refused); !json.Valid(text) || bytes.ContainsRune(text, '\n') {
				t.Errorf("AppendError() = %q, want one line of JSON", text)
			}
			return
		}
		var want struct {
			ID     json.RawMessage
			Method string
		}
		var top map[string]json.RawMessage
		if err := json.Unmarshal(message, &top); err != nil {
			t.Fatalf("Open(%q) accepts what encoding/json refuses: %v", message, err)
		}
		want.ID = top["id"]
		if m, ok := top["method"]; ok {
			if err := json.Unmarshal(m, &want.Method); err != nil {
				t.Fatal(err)
			}
		}
		if !sameID(want.ID, e.ID) || want.Method != e.Method {
			t.Errorf("Open(%q) = id %s, method %q, want %s, %q", message, e.ID, e.Method, want.ID, want.Method)
		}
	})
}

// sameID reports whether two ids decode to the same value.
func sameID(a, b json.RawMessage) bool {
	return (a == nil) == (b == nil) && IDKey(a) == IDKey(b)
}
