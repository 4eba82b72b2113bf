package schema

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/sallyport/sallyport"
)

const weatherSchema = `{"type":"object","properties":{` +
	`"location":{"type":"string","description":"City, country"},` +
	`"unit":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"},` +
	`"days":{"type":"integer","minimum":1,"maximum":14}},` +
	`"required":["location"],"additionalProperties":false}`

const nestedSchema = `{"type":"object","$defs":{"point":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},"required":["x","y"]}},` +
	`"properties":{"name":{"type":"string","minLength":1,"maxLength":80},"kind":{"enum":["a","b","c"]},` +
	`"path":{"type":"array","items":{"$ref":"#/$defs/point"},"maxItems":100},` +
	`"when":{"type":"string","format":"date-time"},"id":{"anyOf":[{"type":"integer"},{"type":"string","pattern":"^[a-z]+$"}]}},` +
	`"required":["name"]}`

type weather struct {
	Location string `json:"location"`
	Unit     string `json:"unit,omitempty"`
	Days     int    `json:"days,omitempty"`
}

func mustCompile(tb testing.TB, text string) *Schema {
	tb.Helper()
	s, err := Compile(json.RawMessage(text))
	if err != nil {
		tb.Fatalf("Compile(%s) = %v", text, err)
	}
	return s
}

func BenchmarkArguments(b *testing.B) {
	for _, c := range []struct{ name, schema, args string }{
		{"three", weatherSchema, `{"location":"Paris, France","unit":"celsius","days":3}`},
		{"default", weatherSchema, `{"location":"Paris, France","days":3}`},
		{"fault", weatherSchema, `{"location":"Paris, France","unit":"kelvin","days":3}`},
		{"nested", nestedSchema, `{"name":"n","kind":"a","path":[{"x":1,"y":2.5},{"x":3,"y":4}],"when":"2026-01-02T03:04:05Z","id":7}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustCompile(b, c.schema)
			args := json.RawMessage(c.args)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Arguments(args); (err != nil) != (c.name == "fault") {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkValidator is what the library takes for what BenchmarkArguments
// checks while it decodes.
func BenchmarkValidator(b *testing.B) {
	for _, c := range []struct{ name, schema, args string }{
		{"three", weatherSchema, `{"location":"Paris, France","unit":"celsius","days":3}`},
		{"nested", nestedSchema, `{"name":"n","kind":"a","path":[{"x":1,"y":2.5},{"x":3,"y":4}],"when":"2026-01-02T03:04:05Z","id":7}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustCompile(b, c.schema)
			d, err := s.Parse(json.RawMessage(c.args))
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if f := s.compileForm().checkValue(d.Value); len(f) > 0 {
					b.Fatal(f)
				}
			}
		})
	}
}

// BenchmarkReference is what a call costs without a gate: decode the same
// three arguments into a struct.
func BenchmarkReference(b *testing.B) {
	args := json.RawMessage(`{"location":"Paris, France","unit":"celsius","days":3}`)
	b.ReportAllocs()
	for b.Loop() {
		var in weather
		if err := json.Unmarshal(args, &in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	args := []byte(`{"location":"Paris, France","unit":"celsius","days":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(args, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	d, err := mustCompile(b, weatherSchema).Arguments(json.RawMessage(`{"location":"Paris, France","unit":"celsius","days":3}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		d.Canonical()
	}
}

func BenchmarkRun(b *testing.B) {
	t := MustTool(sallyport.Tool{Name: "weather"}, func(context.Context, *sallyport.Call, weather) (sallyport.Result, error) {
		return sallyport.OK("ok"), nil
	})
	c := &sallyport.Call{Args: json.RawMessage(`{"location":"Paris, France","unit":"celsius","days":3}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Run(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for _, c := range []struct{ name, schema string }{{"three", weatherSchema}, {"nested", nestedSchema}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Compile(json.RawMessage(c.schema)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTool(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		MustTool(sallyport.Tool{Name: "weather"}, func(context.Context, *sallyport.Call, weather) (sallyport.Result, error) {
			return sallyport.OK("ok"), nil
		})
	}
}

// BenchmarkRegister is the schema's part of registering 100,000 tools over 100
// distinct schemas.
func BenchmarkRegister(b *testing.B) {
	texts := make([]json.RawMessage, 100)
	for i := range texts {
		texts[i] = json.RawMessage(`{"type":"object","properties":{"p` + strconv.Itoa(i) + `":` + weatherSchema + `}}`)
	}
	b.ReportAllocs()
	for b.Loop() {
		c := NewCache()
		for i := range 100_000 {
			if _, err := c.Compile(texts[i%len(texts)]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkCache(b *testing.B) {
	c := NewCache()
	raw := json.RawMessage(weatherSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Compile(raw); err != nil {
			b.Fatal(err)
		}
	}
}
