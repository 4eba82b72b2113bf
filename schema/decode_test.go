package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeRefuses(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	tests := []struct{ name, text, want string }{
		{"empty", "", "is not valid JSON: unexpected end of text at byte 1"},
		{"space only", " \n", "is not valid JSON: unexpected end of text at byte 3"},
		{"words", "not json", "is not valid JSON: unexpected word at byte 1"},
		{"open object", `{"a":1`, "is not valid JSON: unexpected end of text at byte 7"},
		{"trailing comma in object", `{"a":1,}`, "is not valid JSON: expected a key in double quotes at byte 8"},
		{"trailing comma in array", `[1,]`, "is not valid JSON: unexpected character at byte 4"},
		{"single quotes", `{'a':1}`, "is not valid JSON: expected a key in double quotes at byte 2"},
		{"missing colon", `{"a" 1}`, "is not valid JSON: expected : after a key at byte 6"},
		{"missing comma in object", `{"a":1 "b":2}`, "is not valid JSON: expected , or } at byte 8"},
		{"missing comma in array", `[1 2]`, "is not valid JSON: expected , or ] at byte 4"},
		{"comment", `{"a":1} // x`, "has more text after the value"},
		{"second value", `{} {}`, "has more text after the value"},
		{"NUL after value", "{}\x00", "has more text after the value"},
		{"byte order mark", "\ufeff{}", "is not valid JSON: unexpected character at byte 1"},
		{"NaN", `NaN`, "is not valid JSON: unexpected character at byte 1"},
		{"Infinity", `-Infinity`, "is not valid JSON: expected a digit at byte 2"},
		{"leading zero", `01`, "has more text after the value"},
		{"leading plus", `+1`, "is not valid JSON: unexpected character at byte 1"},
		{"no fraction", `1.`, "is not valid JSON: unexpected end of text at byte 3"},
		{"no exponent", `1ex`, "is not valid JSON: expected a digit at byte 3"},
		{"hex", `0x10`, "has more text after the value"},
		{"huge exponent", `{"n":1e401}`, "/n: is a number out of range"},
		{"huge exponent of zeros", `[0.0e99999999999]`, "/0: is a number out of range"},
		{"tiny exponent", `1e-500`, "is a number out of range"},
		{"many digits", strings.Repeat("9", 401), "is a number out of range"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "is not valid UTF-8"},
		{"overlong UTF-8", "\"\xc0\xaf\"", "is not valid UTF-8"},
		{"high surrogate alone", `"\ud800"`, "is not valid JSON: half a surrogate pair in a string at byte 8"},
		{"low surrogate alone", `"\udc00x"`, "is not valid JSON: half a surrogate pair in a string at byte 8"},
		{"two high surrogates", `"\ud800\ud800"`, "is not valid JSON: half a surrogate pair in a string at byte 14"},
		{"bad escape", `"\x41"`, "is not valid JSON: unknown escape in a string at byte 3"},
		{"bad hex", `"\u12g4"`, `is not valid JSON: \u needs four hexadecimal digits at byte 6`},
		{"control character", "\"a\nb\"", "is not valid JSON: control character in a string at byte 3"},
		{"repeated key", `{"a":1,"a":2}`, `repeats the key "a"`},
		{"repeated key by escape", `{"a":1,"\u0061":2}`, `repeats the key "a"`},
		{"repeated key deep", `{"x":[{},{"a":1,"b":2,"a":1}]}`, `/x/1: repeats the key "a"`},
		{"too deep", deep, strings.Repeat("/0", 64) + ": is nested too deeply"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Decode([]byte(tt.text), nil)
			if err == nil {
				t.Fatalf("Decode(%q) = %v, want an error", tt.text, v)
			}
			if _, ok := errors.AsType[Faults](err); !ok || err.Error() != tt.want {
				t.Errorf("Decode(%q) = %T %v, want Faults %v", tt.text, err, err, tt.want)
			}
		})
	}
}

func TestDecodeKeepsValues(t *testing.T) {
	text := "\t{\"s\":\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00é\",\"n\":[9007199254740993,-0,1.0,1E+2],\"t\":true,\"f\":false,\"z\":null,\"e\":{},\"a\":[]}\r\n "
	got, err := Decode([]byte(text), nil)
	if err != nil {
		t.Fatalf("Decode(%q) = %v", text, err)
	}
	want := map[string]any{
		"s": "a\"\\/\b\f\n\r\té😀é",
		"n": []any{json.Number("9007199254740993"), json.Number("-0"), json.Number("1.0"), json.Number("1E+2")},
		"t": true, "f": false, "z": nil, "e": map[string]any{}, "a": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Decode(%q) mismatch (-want +got):\n%s", text, diff)
	}
}

func TestDecodeLimits(t *testing.T) {
	tests := []struct {
		name, text string
		limits     Limits
		want       string
	}{
		{"depth kept", `[[]]`, Limits{Depth: 2}, ""},
		{"depth", `[[]]`, Limits{Depth: 1}, "/0: is nested too deeply"},
		{"depth counts what is open", `[[],[],[]]`, Limits{Depth: 2}, ""},
		{"bytes kept", `[1]`, Limits{Bytes: 3}, ""},
		{"bytes", `[1] `, Limits{Bytes: 3}, "is larger than 3 bytes"},
		{"nodes kept", `[1,2]`, Limits{Nodes: 3}, ""},
		{"nodes", `[1,2,3]`, Limits{Nodes: 3}, "/2: has too many values"},
		{"default nodes", "[" + strings.Repeat("0,", defaultNodes) + "0]", Limits{}, "/199999: has too many values"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode([]byte(tt.text), &tt.limits)
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Decode(limits %+v) = %q, want %q", tt.limits, got, tt.want)
			}
		})
	}
}

// decodeSeeds is what the fuzz targets start from.
var decodeSeeds = []string{
	`{}`, `[]`, `null`, `{"a":1,"b":[true,false,null],"c":{"d":"e"}}`, `{"a":1,"A":2}`, `{"a":1,"a":1}`,
	`"\ud83d\ude00"`, `"\ud83d"`, `"\u0000"`, `-0.0e-0`, `1e400`, `123456789012345678901234567890`, "[1 ]", " [ 1 , 2 ] ",
	`{"k":1,"K":2}`, "\"\xff\"", `{"":{"":{}}}`, `1.5E+10`, `"\u2028"`, `{"a":1,}`, `nul`, `tru`,
}

func FuzzDecode(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Decode(text, nil)
		if err != nil {
			return
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var want any
		if err := d.Decode(&want); err != nil {
			t.Fatalf("Decode(%q) accepts what encoding/json refuses: %v", text, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("Decode(%q) = %#v, encoding/json reads %#v", text, got, want)
		}
		printed := appendJSON(nil, got, false)
		again, err := Decode(printed, nil)
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("Decode(%q), printed %q, reads %#v, %v", text, printed, again, err)
		}
		canonical := appendJSON(nil, got, true)
		again, err = Decode(canonical, nil)
		if err != nil || !bytes.Equal(appendJSON(nil, again, true), canonical) {
			t.Fatalf("canonical text %q of %q is not its own: %q, %v", canonical, text, appendJSON(nil, again, true), err)
		}
		if !sameValue(got, again) {
			t.Fatalf("canonical text %q differs in value from %q", canonical, text)
		}
	})
}

// sameValue compares decoded values, numbers by what they stand for.
func sameValue(a, b any) bool {
	return cmp.Equal(a, b, cmp.Comparer(func(x, y json.Number) bool {
		p, ok1 := new(big.Rat).SetString(string(x))
		q, ok2 := new(big.Rat).SetString(string(y))
		return ok1 && ok2 && p.Cmp(q) == 0
	}))
}

func TestFold(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"unit", "UNIT", true},
		{"unit", "units", false},
		{"password", "pa\u017fsword", true},
		{"key", "\u212aey", true},
		{"straße", "STRASSE", false},
		{"σ", "ς", true},
		{"é", "É", true},
		{"", "", true},
	}
	for _, tt := range tests {
		if got := foldCase(tt.a) == foldCase(tt.b); got != tt.want || got != strings.EqualFold(tt.a, tt.b) {
			t.Errorf("fold(%q) == fold(%q) is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestFoldCollision(t *testing.T) {
	var many []string
	for i := range 40 {
		many = append(many, "k"+strconv.Itoa(i))
	}
	tests := []struct {
		name string
		keys []string
		want bool
	}{
		{"none", nil, false},
		{"different", []string{"a", "b", "ab"}, false},
		{"case", []string{"a", "b", "A"}, true},
		{"long s", []string{"x", "\u017f", "s"}, true},
		{"many different", many, false},
		{"many with case", append(many[:39:39], "K3"), true},
	}
	for _, tt := range tests {
		if got := foldCollision(tt.keys); got != tt.want {
			t.Errorf("%s: foldCollision = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func FuzzFold(f *testing.F) {
	f.Add("password", "pa\u017fsword")
	f.Add("K", "\u212a")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, want := foldCase(a) == foldCase(b), strings.EqualFold(a, b); got != want && isValidUTF8(a, b) {
			t.Fatalf("fold(%q) == fold(%q) is %v, EqualFold says %v", a, b, got, want)
		}
		if got, want := foldCollision([]string{a, b}), foldCase(a) == foldCase(b); got != want && isValidUTF8(a, b) {
			t.Fatalf("foldCollision(%q, %q) = %v, want %v", a, b, got, want)
		}
	})
}

func isValidUTF8(a, b string) bool {
	return strings.ToValidUTF8(a, "") == a && strings.ToValidUTF8(b, "") == b
}
