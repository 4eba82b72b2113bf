package action_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/schema"
)

// FuzzDecode: a definition is refused with faults that have a place and a
// message, or makes a tool whose schemas compile.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		weather, `{}`, `null`, `{"id": "a", "handler": "x"}`, `{"id": "a", "handler": {"exec": {"command": ["git"], "env": {"A": "b"}}}}`,
		`{"id": "a", "parameters": {"type": "object", "properties": {"p": {"type": "string"}}}, "handler": {"http": {"url": "https://a.example/{p}", "method": "POST", "body": [{"a": "{p}"}], "response": {"value": "/a"}}}}`,
		`{"id": "a", "capabilities": {"network": {"allowedHosts": ["*"]}, "storage": {"scope": "session", "kind": "kv"}, "attachments": {"kinds": "*"}, "fs_reach": {"read": "from-personality"}}, "handler": {"http": {"url": "https://a.example"}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := action.Decode(json.RawMessage(data), &action.DecodeOptions{Dir: "/nonexistent"})
		if err != nil {
			faults, ok := errors.AsType[action.Faults](err)
			if !ok || len(faults) == 0 || d != nil {
				t.Fatalf("Decode = %v, %v, want faults and nothing else", d, err)
			}
			for _, fault := range faults {
				if fault.Message == "" {
					t.Fatalf("the fault at %q says nothing", fault.Pointer)
				}
			}
			return
		}
		tl, err := d.Tool()
		if err != nil || tl.Run == nil || !tl.OutputIsUntrusted || tl.Revision == "" {
			t.Fatalf("Tool = %+v, %v, want a tool of untrusted output", tl, err)
		}
		if _, err := schema.Compile(tl.Schema); err != nil {
			t.Fatal(err)
		}
	})
}
