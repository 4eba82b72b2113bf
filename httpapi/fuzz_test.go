package httpapi_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/schema"
)

// FuzzDecode holds the decoder of bodies to two readers of its own kind: what
// it accepts is an object of known keys for the library as well, with the same
// words, and the strict decoder of arguments accepts whatever surrounds them.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"params":{}}`, `{"params":{"a":[1,{"b":null}]},"session":"s","personality":"p","dry_run":true}`,
		`{"params":{},"params":{}}`, `{"session":"\ud800"}`, `{"session":1}`, ` { "dry_run" : false } `, `{} {}`, `[]`, `{"a":`,
		"{\"session\":\"\xff\"}", `{"par\u0061ms":{}}`, `{"session":"\u0000"}`, `{"params":{"a":1,"a":2}}`, `{"":{}}`,
		"{\"params\":{\"a\":\"\xff\"}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := httpapi.Decode(text)
		if err != nil {
			if !utf8.ValidString(err.Error()) || len(err.Error()) > 500 {
				t.Errorf("Decode(%q) fails with %q, want a short text", text, err)
			}
			return
		}
		if !utf8.Valid(text) {
			t.Errorf("Decode accepts %q, which is not UTF-8", text)
		}
		var want struct {
			Params      json.RawMessage `json:"params"`
			Session     string          `json:"session"`
			Personality string          `json:"personality"`
			DryRun      bool            `json:"dry_run"`
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("Decode accepts %q, the library says %v", text, err)
		}
		if got != (httpapi.Decoded{Params: string(want.Params), Session: want.Session, Personality: want.Personality, DryRun: want.DryRun}) {
			t.Errorf("Decode(%q) = %v, the library reads %v", text, got, want)
		}
		// The parameters are the gate's to judge; without them nothing is left
		// that the strict decoder refuses.
		if got.Params == "" || got.Params == "{}" {
			if _, err := schema.Decode(text, nil); err != nil {
				t.Errorf("Decode accepts %q, the strict decoder says %v", text, err)
			}
		}
	})
}
