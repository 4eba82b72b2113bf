package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzAppendText holds the strings of answers to encoding/json.
func FuzzAppendText(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\/\b\f\n\r\t\x00\x1f\x7f", "<a>&</a>", "é\u2028\u2029\U0001f600", "\xff\xc3(", "\ufffd"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendText([]byte("x"), text); string(got) != "x"+string(want) {
			t.Errorf("AppendText(%q) = %s, want x%s", text, got, want)
		}
	})
}

// FuzzNext holds members to encoding/json, which takes the last of those that
// are repeated.
func FuzzNext(f *testing.F) {
	for _, seed := range []string{`{}`, ` {"a" : 1 , "b":[1,{"c":"]}\\\""}] } `, `{"\u0061":"x","a":{}}`, `{"é":-1.5e3,"":null}`, `{"a":true}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		object := Blank([]byte(text))
		var want map[string]json.RawMessage
		if !json.Valid(object) || object[0] != '{' || json.Unmarshal(object, &want) != nil {
			t.Skip()
		}
		got := map[string]json.RawMessage{}
		for rest := Blank(object[1:]); rest[0] != '}'; {
			key, value, after, err := Next(rest)
			if err != nil {
				t.Skip() // encoding/json replaces what is no UTF-8
			}
			got[string(key)], rest = value, after
		}
		if len(got) != len(want) {
			t.Fatalf("%q has %d members, want %d", text, len(got), len(want))
		}
		for key, value := range want {
			if !bytes.Equal(got[key], bytes.TrimSpace(value)) {
				t.Errorf("%q of %q is %q, want %q", key, text, got[key], value)
			}
		}
	})
}
