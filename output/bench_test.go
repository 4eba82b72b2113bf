package output_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// keys returns n generated values of 12 to 43 characters.
func keys(n int) []sallyport.Secret {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]sallyport.Secret, n)
	for i := range all {
		raw := make([]byte, 9+r.IntN(24))
		for k := range raw {
			raw[k] = byte(r.Uint32())
		}
		all[i] = sallyport.NewSecret(base64.StdEncoding.EncodeToString(raw))
	}
	return all
}

// fillTo repeats s as often as it fits into one MiB.
func fillTo(s string) string { return strings.Repeat(s, 1<<20/len(s)) }

const prose = `The gate computes the intersection for each call, hands the tool accessors
for exactly that, and nothing else reaches the world. A denial is recorded like
a success, with the stage that refused; so is a dry run and a cache hit.

	if err := r.validate(ctx, call); err != nil {
		return sallyport.ErrorResult(fmt.Errorf("call %q: %w", call.ID, err))
	}

{"name": "sallyport", "version": "1.2.3", "token_count": 1234, "items": [1, 2, 3], "url": "https://example.com/a/b?c=d"}
- see [the guide](docs/guide.md#start) and <b>docs</b>; sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
`

// ordinary lists texts of one MiB with nothing to change.
func ordinary() []struct{ name, text string } {
	words := strings.Fields(prose)
	r := rand.New(rand.NewPCG(3, 4))
	var shuffled, hex strings.Builder
	for shuffled.Len() < 1<<20 {
		shuffled.WriteString(words[r.IntN(len(words))] + " ")
	}
	for hex.Len() < 1<<20 {
		fmt.Fprintf(&hex, "%08x", r.Uint32())
	}
	raw := make([]byte, 3<<18)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	return []struct{ name, text string }{
		{"prose and code", fillTo(prose)},
		{"shuffled words", shuffled.String()},
		{"base64", base64.StdEncoding.EncodeToString(raw)},
		{"hex", hex.String()},
		{"html", fillTo(`<table><tr><td class="a">x</td><th>y</th></tr></table><p>text <a href="https://a.example/b">z</a></p>`)},
		{"german", fillTo("Größere Häuser führen übrigens öfter zu schönen Gärten, außer im Frühjahr. ")},
		{"russian", fillTo("Вызов инструмента проходит через один шлюз, и там он решается. ")},
		{"chinese", fillTo("每一次工具调用都要经过同一个关口，在那里作出决定并留下记录。")},
		{"emoji", fillTo("👨‍👩‍👧 ok ❤️ 1️⃣ ")},
	}
}

func BenchmarkText(b *testing.B) {
	c, err := output.New(&output.Options{Secrets: keys(50)})
	if err != nil {
		b.Fatal(err)
	}
	for _, o := range ordinary() {
		b.Run(o.name, func(b *testing.B) {
			b.SetBytes(int64(len(o.text)))
			b.ReportAllocs()
			for b.Loop() {
				c.Text(o.text)
			}
		})
	}
}

func BenchmarkTextHostile(b *testing.B) {
	c, err := output.New(&output.Options{Secrets: keys(50)})
	if err != nil {
		b.Fatal(err)
	}
	for _, h := range hostile() {
		b.Run(h.name, func(b *testing.B) {
			text := fillTo(h.text)
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				c.Text(text)
			}
		})
	}
}

// hostile lists texts that make the cleaner work: repeated beginnings of what
// it looks for, and repetitions of the whole.
func hostile() []struct{ name, text string } {
	key := keys(1)[0].Reveal()
	return []struct{ name, text string }{
		{"escapes", "\x1b"},
		{"open strings", "\x1bP"},
		{"open commands", "\x1b]0;"},
		{"open 8-bit strings", "a\x98"},
		{"csi", "\x1b[31m"},
		{"zero width", "a\u200b"},
		{"marks", "\u0301"},
		{"invalid", "\xff\xfe"},
		{"tag characters", "\U000E0067"},
		{"angles", "<"},
		{"pipes", "<|"},
		{"open tokens", "<|im_start"},
		{"tokens", "<|im_start|>"},
		{"sentence marks", "<s>"},
		{"spaced tokens", "<  |  im_start"},
		{"brackets", "[INST"},
		{"turns", "Human:"},
		{"turn lines", "\n\nHuman:"},
		{"blanks and turn", strings.Repeat(" ", 4000) + "Human:"},
		{"sk", "sk-"},
		{"sk-proj", "sk-proj-"},
		{"jwt", "eyJ"},
		{"jwt dashed", "eyJ-"},
		{"jwt parts", "eyJhbGciOiJIUzI1NiJ9."},
		{"pem headers", "-----BEGIN RSA PRIVATE KEY-----"},
		{"pem rules", "-----B"},
		{"names", "password="},
		{"quoted names", `\\\\\\\\"token\":`},
		{"urls", "://a:b"},
		{"long urls", "://" + strings.Repeat("a", 200)},
		{"bearer", "bearer "},
		{"basic", "basic QUJD"},
		{"secret", key},
		{"secret heads", key[:8]},
		{"secret in blanks", key[:4] + strings.Repeat(" ", 1000)},
		{"telegram", "12345678:AA"},
		{"hex", "SK0123456789abcdef"},
	}
}

func BenchmarkNew(b *testing.B) {
	o := &output.Options{Secrets: keys(50)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := output.New(o); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrap(b *testing.B) {
	text := fillTo(prose)[:20000]
	b.ReportAllocs()
	for b.Loop() {
		output.Wrap(output.Clean(text), "file:/work/README.md", "read_file")
	}
}

func BenchmarkValue(b *testing.B) {
	c, err := output.New(&output.Options{Secrets: keys(50)})
	if err != nil {
		b.Fatal(err)
	}
	v := map[string]any{
		"path": "/work/README.md", "lines": 12.0, "ok": true,
		"matches": []any{map[string]any{"line": 3.0, "text": "the gate computes the intersection"}, nil},
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Value(v)
	}
}
