package schema

import (
	"encoding/json"
	"testing"
)

// formats lists one good and one bad value of every format that is asserted.
var formats = []struct{ name, good, bad string }{
	{"date-time", "2026-01-02T03:04:05.5+01:00", "2026-01-02 03:04:05"},
	{"date", "2024-02-29", "2025-02-29"},
	{"time", "23:59:60Z", "24:00:00Z"},
	{"duration", "P1DT2H", "1 day"},
	{"email", "ada@example.com", "ada"},
	{"hostname", "api.example.com", "-a.example.com"},
	{"ipv4", "192.0.2.1", "192.0.2.01"},
	{"ipv6", "2001:db8::1", "2001:db8::1%eth0"},
	{"uri", "https://example.com/a?b", "/relative"},
	{"uri-reference", "/relative", "a\\b"},
	{"uri-template", "https://example.com/{id}", "https://example.com/{id"},
	{"uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"},
	{"json-pointer", "/a~1b/0", "a"},
	{"relative-json-pointer", "1/a", "/a"},
	{"regex", "^a+$", "(?=a)"},
}

func TestFormats(t *testing.T) {
	for _, f := range formats {
		t.Run(f.name, func(t *testing.T) {
			s := mustCompile(t, `{"type":"object","properties":{"v":{"format":"`+f.name+`"}}}`)
			for value, valid := range map[any]bool{f.good: true, f.bad: false, 3: true} {
				if got := s.Validate(map[string]any{"v": value}); (got == nil) != valid {
					t.Errorf("Validate(%v) as %s = %v, want valid %v", value, f.name, got, valid)
				}
			}
		})
	}
}

// FuzzFormat holds that no text makes a format panic or the rule wrong.
func FuzzFormat(f *testing.F) {
	var schemas []*Schema
	for _, format := range formats {
		s, err := Compile(json.RawMessage(`{"type":"object","properties":{"v":{"format":"` + format.name + `"}}}`))
		if err != nil {
			f.Fatal(err)
		}
		schemas = append(schemas, s)
		f.Add(format.good)
		f.Add(format.bad)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value := appendString(nil, text)
		if _, err := Decode(value, nil); err != nil {
			return
		}
		for _, s := range schemas {
			if err := s.compileForm().root.props["v"].schema.Validate(text); err == nil {
				continue
			}
			if checkSure(t, s, `{"v":`+string(value)+`}`) {
				t.Fatalf("the rule of %s is sure of %s", s.raw, value)
			}
		}
	})
}
