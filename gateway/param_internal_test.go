package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/schema"
)

// FuzzHeadersOfArguments: an accepted header equals what encoding/json finds at
// the path, and a path with a repeated name is never accepted.
func FuzzHeadersOfArguments(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"a":{"b":"x"}}`, "x"},
		{`{"a":{"b":" x"}}`, "=?base64?IHg=?="},
		{`{"a":{"b":true}}`, "true"},
		{`{"a":{"b":1.0}}`, "1e0"},
		{`{"\u0061":{"b":"x"}}`, "x"},
		{`{"a":{"b":"x"},"a":{"b":"y"}}`, "x"},
		{`{"a":{"b":null}}`, ""},
		{`{"a":[],"c":{"a":{"b":"x"}}}`, "x"},
		{`[]`, ""},
	} {
		f.Add(seed[0], seed[1])
	}
	marked := []schema.Header{{Name: "Mcp-Param-B", Path: []string{"a", "b"}}}
	f.Fuzz(func(t *testing.T, args, value string) {
		args = strings.TrimLeft(args, " \t\r\n")
		if args == "" || !json.Valid([]byte(args)) || checkRepeated(marked, http.Header{"Mcp-Param-B": {value}}, json.RawMessage(args)) != nil {
			return
		}
		var outer, inner map[string]any
		if err := json.Unmarshal([]byte(args), &outer); err != nil {
			t.Fatalf("a header passed with %s: %v", args, err)
		}
		inner, _ = outer["a"].(map[string]any)
		text, ok := decodeHeader(value)
		switch is := inner["b"].(type) {
		case string:
			ok = ok && is == text
		case bool:
			ok = ok && is == (text == "true") && (is || text == "false")
		case float64:
			var says float64
			ok = ok && json.Unmarshal([]byte(text), &says) == nil && says == is
		default:
			ok = false
		}
		if !ok {
			t.Errorf("the header %q passed with %s", value, args)
		}
	})
}
