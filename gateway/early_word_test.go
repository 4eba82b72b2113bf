package gateway

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAMessageWithAWordSaysTheSame compares the decoded message before and
// after the word for its result was added.
func TestAMessageWithAWordSaysTheSame(t *testing.T) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}`,
		`{"id":"x y","params":{"arguments":{"a":"é\"<\u2028","b":[1e2,{}]},"name":"a","_meta":{}},"method":"tools/call","jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":-7,"method":"tools/call","params":{"_meta":{"a b":"\u0007c","io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"a","arguments":{}}}`,
	} {
		e, err := openEnvelope([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var before, after map[string]any
		if err := errors.Join(json.Unmarshal([]byte(body), &before), json.Unmarshal(e.withResultWord("word"), &after)); err != nil {
			t.Fatalf("%s: %v in %s", body, err, e.withResultWord("word"))
		}
		params := before["params"].(map[string]any)
		meta, _ := params["_meta"].(map[string]any)
		if meta == nil {
			meta = map[string]any{}
		}
		meta[earlyMeta], params["_meta"] = "word", meta
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}
