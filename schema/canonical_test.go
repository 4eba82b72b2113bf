package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"testing"
)

func TestCanonical(t *testing.T) {
	tests := []struct{ name, text, want string }{
		// RFC 8785 section 3.2.2 and 3.2.3. The first number keeps the digits
		// that the RFC would round away.
		{
			"RFC 8785 sample", `{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`,
			`{"literals":[null,true,false],"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"RFC 8785 key order", `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		{"space and order", ` { "b" : 1 , "a" : [ 1 , { } ] } `, `{"a":[1,{}],"b":1}`},
		{"escapes", `"\b\t\n\f\r\u0001\u007f\u2028"`, "\"\\b\\t\\n\\f\\r\\u0001\u007f\u2028\""},
		{"large integers stay apart", `[9007199254740992,9007199254740993]`, `[9007199254740992,9007199254740993]`},
		{"equal numbers", `[1,1.0,10e-1,0.1E1]`, `[1,1,1,1]`},
		{"zeros", `[0,-0,0.0,0e5]`, `[0,0,0,0]`},
		{"layout", `[123456789012345678901,1234567890123456789012,0.000001,0.0000001,-1.5e-7]`, `[123456789012345678901,1.234567890123456789012e+21,0.000001,1e-7,-1.5e-7]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Decode([]byte(tt.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(appendJSON(nil, v, true)); got != tt.want {
				t.Errorf("canonical(%s) = %s, want %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestCanonicalNumberIsThatOfECMAScript(t *testing.T) {
	for _, f := range []float64{1, -1, 0.1, 1e21, 1e20, 123e-20, 5e-324, 1.7976931348623157e308, 4.35, 0.00001, 1e-6, 1e-7, 2.5e15, 9007199254740991} {
		want, err := json.Marshal(f) // encoding/json follows ES6 for doubles
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{strconv.FormatFloat(f, 'e', -1, 64), strconv.FormatFloat(f, 'g', -1, 64), string(want)} {
			if got := string(appendNumber(nil, text)); got != string(want) {
				t.Errorf("appendNumber(%s) = %s, want %s", text, got, want)
			}
		}
	}
}

// FuzzNumber holds that two numbers share a canonical text exactly when they
// are equal, and that doubles print as RFC 8785 asks.
func FuzzNumber(f *testing.F) {
	f.Add("1.0", "1")
	f.Add("-0", "0")
	f.Add("9007199254740993", "9007199254740992")
	f.Add("1e-400", "0.5")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isNumber(a) || !isNumber(b) {
			return
		}
		x, ok1 := new(big.Rat).SetString(a)
		y, ok2 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 {
			t.Fatalf("isNumber accepts %q and %q, big.Rat does not", a, b)
		}
		p, q := string(appendNumber(nil, a)), string(appendNumber(nil, b))
		if (p == q) != (x.Cmp(y) == 0) {
			t.Fatalf("canonical(%s) = %s, canonical(%s) = %s", a, p, b, q)
		}
		if v, err := strconv.ParseFloat(a, 64); err == nil && !math.IsInf(v, 0) {
			if exact, ok := new(big.Rat).SetString(strconv.FormatFloat(v, 'e', -1, 64)); ok && exact.Cmp(x) == 0 && v != 0 {
				if want, _ := json.Marshal(v); p != string(want) {
					t.Fatalf("canonical(%s) = %s, want %s", a, p, want)
				}
			}
		}
	})
}
