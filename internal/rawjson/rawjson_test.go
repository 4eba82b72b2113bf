package rawjson

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
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
		// Over the edges of its pieces, too.
		long := strings.Repeat(text, 5000/max(len(text), 1)+1)
		if got, want := TextLen(long), len(AppendText(nil, long)); got != want {
			t.Errorf("TextLen(%q, repeated) = %d, want %d", text, got, want)
		}
		var plain bytes.Buffer
		enc := json.NewEncoder(&plain)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		if got := AppendPlainText(nil, text); string(got)+"\n" != plain.String() {
			t.Errorf("AppendPlainText(%q) = %s, want %s", text, got, plain.String())
		}
	})
}

// FuzzAppendFloat holds numbers to encoding/json.
func FuzzAppendFloat(f *testing.F) {
	for _, seed := range []float64{0, 1, -1.5, 1e-6, 9.99e-7, -1e-9, 1e20, 1e21, 1e-21, 5e-324, math.MaxFloat64} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		want, err := json.Marshal(n)
		if err != nil {
			t.Skip() // not finite
		}
		if got := AppendFloat(nil, n); !bytes.Equal(got, want) {
			t.Errorf("AppendFloat(%v) = %s, want %s", n, got, want)
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

// FuzzNextItem holds items to encoding/json.
func FuzzNextItem(f *testing.F) {
	for _, seed := range []string{`[]`, ` [ 1 , {"a":[2]} ,"]," , [ ] , null ] `, `[-1.5e3,true]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		array := Blank([]byte(text))
		var want []json.RawMessage
		if !json.Valid(array) || array[0] != '[' || json.Unmarshal(array, &want) != nil {
			return // no array
		}
		rest := Blank(array[1:])
		for i, value := range want {
			var item []byte
			if item, rest = NextItem(rest); !bytes.Equal(item, bytes.TrimSpace(value)) {
				t.Errorf("item %d of %q is %q, want %q", i, text, item, value)
			}
		}
		if rest[0] != ']' {
			t.Errorf("behind the items of %q stands %q", text, rest)
		}
	})
}

// FuzzAppendValue holds values to encoding/json.
func FuzzAppendValue(f *testing.F) {
	for _, seed := range []string{`null`, `[1,-2.5e300,"<a>",true,[],{}]`, `{"b":{"a":null},"a":[{"c":"\u2028"}],"":0}`, `{"n":12345678901234567890}`} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, numbers bool) {
		dec := json.NewDecoder(bytes.NewReader([]byte(text)))
		if numbers {
			dec.UseNumber()
		}
		var v any
		if dec.Decode(&v) != nil {
			t.Skip()
		}
		for _, v := range []any{v, map[string]any{"v": v, "nil": map[string]any(nil), "list": []any(nil), "int": 1, "int64": int64(-1), "typed": []string{"<"}}} {
			want, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := AppendValue(nil, v); err != nil || !bytes.Equal(got, want) {
				t.Errorf("AppendValue(%v) = %s, %v, want %s", v, got, err, want)
			}
		}
	})
}

func TestAppendValueRefusesWhatHasNoText(t *testing.T) {
	for _, v := range []any{math.NaN(), json.Number("1 "), json.Number("x"), []any{math.Inf(1)}, map[string]any{"f": func() {}}} {
		if got, err := AppendValue(nil, v); err == nil {
			t.Errorf("AppendValue(%v) = %s, want an error", v, got)
		}
	}
}

// FuzzIsNumber holds numbers to encoding/json.
func FuzzIsNumber(f *testing.F) {
	for _, seed := range []string{"", "-", "0", "-0", "00", "01", "1.", ".5", "1.5", "1e", "1e+", "1E-09", "1.5e300", "1 ", "+1", "1e1.5", "--1", "x", "1x", "0x1", "1_000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := len(text)
		isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
		want := n > 0 && (text[0] == '-' || isDigit(text[0])) && isDigit(text[n-1]) && json.Valid([]byte(text))
		if got := isNumber(text); got != want {
			t.Errorf("isNumber(%q) = %v, want %v", text, got, want)
		}
	})
}
