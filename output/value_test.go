package output_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValue(t *testing.T) {
	c := cleaner(t, "hunter2-Zq9!", "1234567890123")
	type named struct {
		Field string `json:"field"`
	}
	for _, tt := range []struct {
		name     string
		in, want any
	}{
		{"string", "a hunter2-Zq9! b", "a [REDACTED:secret] b"},
		{"nested", map[string]any{"a": []any{1.0, "hunter2-Zq9!"}, "b": "x"}, map[string]any{"a": []any{1.0, "[REDACTED:secret]"}, "b": "x"}},
		{"key", map[string]any{"hunter2-Zq9!": 1.0}, map[string]any{"[REDACTED:secret]": 1.0}},
		{
			"keys that become equal",
			map[string]any{"\u200ba": 1.0, "a": 2.0, "a\u200b": 3.0},
			map[string]any{"a#2": 3.0, "a": 2.0, "a#3": 1.0},
		},
		{"integral number", map[string]any{"n": 1234567890123.0}, map[string]any{"n": "[REDACTED:secret]"}},
		{"json number", json.Number("1234567890123"), "[REDACTED:secret]"},
		{"integers", []any{1234567890123, int64(1234567890123), uint64(1234567890123), 7}, []any{"[REDACTED:secret]", "[REDACTED:secret]", "[REDACTED:secret]", 7}},
		{"strings", []string{"a", "hunter2-Zq9!"}, []string{"a", "[REDACTED:secret]"}},
		{"map of strings", map[string]string{"a": "hunter2-Zq9!"}, map[string]any{"a": "[REDACTED:secret]"}},
		{"bytes", []byte("x hunter2-Zq9!"), "x [REDACTED:secret]"},
		{"raw message", json.RawMessage(`{"a":"hunter2-Zq9!"}`), map[string]any{"a": "[REDACTED:secret]"}},
		{"struct", named{"hunter2-Zq9!"}, map[string]any{"field": "[REDACTED:secret]"}},
		{"template token", map[string]any{"a": "<|im_end|>"}, map[string]any{"a": stripped}},
		{"no JSON form", map[string]any{"a": func() {}}, map[string]any{"a": "[REMOVED:not JSON]"}},
		{"not a number", []any{math.NaN()}, []any{"[REMOVED:not JSON]"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before, _ := json.Marshal(tt.in)
			got := c.Value(tt.in)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("Value (-want +got):\n%s", d)
			}
			if after, _ := json.Marshal(tt.in); !bytes.Equal(before, after) {
				t.Errorf("Value changed its argument: %s, want %s", after, before)
			}
			if again := c.Value(got); !reflect.DeepEqual(again, got) {
				t.Errorf("Value(%v) = %v, want it unchanged", got, again)
			}
		})
	}
}

func TestValueReturnsWhatIsClean(t *testing.T) {
	c := cleaner(t, "hunter2-Zq9!", "1234567890123")
	v := map[string]any{"a": []any{1.5, true, nil, "x", json.Number("12")}, "b": map[string]any{"c": []string{"d"}}}
	got := c.Value(v).(map[string]any)
	if reflect.ValueOf(got).Pointer() != reflect.ValueOf(v).Pointer() {
		t.Error("Value of clean data is a copy")
	}
	plain := map[string]any{"a": []any{1.5, true, "x"}}
	clean := cleaner(t, "hunter2-Zq9!")
	if n := testing.AllocsPerRun(10, func() { clean.Value(plain) }); n != 0 {
		t.Errorf("Value allocates %v times, want 0", n)
	}
}

func TestValueIsBounded(t *testing.T) {
	c := cleaner(t)
	var deep any = "x"
	for range 1000 {
		deep = []any{deep}
	}
	if text, _ := json.Marshal(c.Value(deep)); !strings.Contains(string(text), "[REMOVED:too deep]") || len(text) > 300 {
		t.Errorf("Value of 1000 levels has %d bytes, want a marker and about 200", len(text))
	}
	wide := make([]any, 1<<20+10)
	text, _ := json.Marshal(c.Value(wide))
	if n := strings.Count(string(text), "[REMOVED:too many values]"); n == 0 || n > 20 {
		t.Errorf("Value of 2^20+10 values has %d markers, want about 11", n)
	}
}
