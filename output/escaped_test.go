package output_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	sallyport "github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/spelling"
	"github.com/sallyport/sallyport/output"
)

// between is what may stand between any two characters of a secret.
var between = []string{"", "", "", "", "\u00a0", "\u2800", "\u2003", "\u3000", "\u200b", "\u00ad", "\x00", "\nSIGN", "\nSIGN ", "\r\nSIGN"}

// TestA18_EveryFormOfTheTableIsCleaned writes each character of a secret in any of
// the ways of the table that the proxy of children searches answers by.
func TestA18_EveryFormOfTheTableIsCleaned(t *testing.T) {
	secret := rapid.StringOfN(rapid.SampledFrom([]rune("abcdefABCDEF0123456789_.:!@")), 12, 40, -1)
	rapid.Check(t, func(t *rapid.T) {
		value := secret.Draw(t, "secret")
		c, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(value)}})
		if err != nil {
			t.Skip("not a value that is searched for")
		}
		var b strings.Builder
		for _, r := range value {
			b.WriteString(rapid.SampledFrom(spelling.Ways(string(r))).Draw(t, "way"))
			if rapid.IntRange(0, 4).Draw(t, "split") == 0 {
				b.WriteString(rapid.SampledFrom(between).Draw(t, "between"))
			}
		}
		sign := rapid.SampledFrom([]string{"+", "-", ">", "|"}).Draw(t, "sign")
		written := strings.TrimRight(strings.ReplaceAll(b.String(), "SIGN", sign), "\n+-> |\r\u00a0\u2800\u2003\u3000\u200b\u00ad\x00")
		before := rapid.SampledFrom([]string{"", "a = ", "see\n", "{\"k\": \"", "x%20", "&amp; "}).Draw(t, "before")
		before += "\n" + sign
		got := string(c.Text(before + written + " end"))
		if !strings.Contains(got, "[REDACTED:secret]") || !strings.HasSuffix(got, " end") {
			t.Fatalf("Text(%q) = %q, want %q gone", before+written+" end", got, value)
		}
	})
}

func TestA18_FormsThatWereMissed(t *testing.T) {
	const value = "hunter2-Zq9xY7w"
	c := cleaner(t, value)
	wide := strings.Map(func(r rune) rune { return r + 0xFEE0 }, value)
	for name, text := range map[string]string{
		"mixed escapes of JSON":   `h\u0075nt\u0065r2-Zq9xY7w`,
		"partly percent-encoded":  "h%75nter2%2DZq9xY7w",
		"no-break spaces":         strings.Join(strings.Split(value, ""), "\u00a0"),
		"Braille blanks":          strings.Join(strings.Split(value, ""), "\u2800"),
		"blanks of two kinds":     strings.Join(strings.Split(value, ""), " \u00a0"),
		"references, decimal":     "&#104;unt&#101;r2-Zq9xY7w",
		"references, hexadecimal": "h&#x75;nter2&#X2d;Zq9xY7w",
		"references, named":       "hunter2-Zq9xY7w",
		"full width":              wide,
		"full width in part":      wide[:9] + value[3:],
		"lines of a diff":         "+hunt\n+er2-Zq\n+9xY7w",
		"lines of a quotation":    "> hun\n> ter2-Zq9\n> xY7w",
		"one escape at the front": "\\u0068unter2-Zq9xY7w",
		"one escape further on":   "hunter2-Zq\\x39xY7w",
	} {
		if got := string(c.Text("see\n" + text + " here")); !strings.Contains(got, "[REDACTED:secret]") || !strings.HasSuffix(got, " here") {
			t.Errorf("%s: Text(%q) = %q", name, text, got)
		}
	}
	for _, text := range []string{"- hunter2\n- item", "100%25 &amp; h&#117;nter2", "h%75nter2-", `\u0068unter2`} {
		if got := string(c.Text(text)); got != text {
			t.Errorf("Text(%q) = %q, want it unchanged", text, got)
		}
	}
}

// TestA18_ValuesEscapedMoreThanOnce writes values whose first characters JSON
// escapes as JSON in JSON, and characters beyond the basic plane in each way.
func TestA18_ValuesEscapedMoreThanOnce(t *testing.T) {
	t.Parallel()
	for _, value := range []string{`pa"ss-word-771`, `pa\ss-word-771`, `"a-word-771`, `\a"-word-771`, `p"\"ss-word-771`, "a\"😀-word-771"} {
		c := cleaner(t, value)
		text := value
		for depth := range 4 {
			quoted, err := json.Marshal(map[string]string{"k": text})
			if err != nil {
				t.Fatal(err)
			}
			text = string(quoted)
			for _, s := range []string{text, strings.NewReplacer("😀", strings.Repeat(`\`, 1<<depth)+"uD83D"+strings.Repeat(`\`, 1<<depth)+"uDE00").Replace(text)} {
				if got := string(c.Text(s)); strings.Contains(got, "-word-771") || !strings.HasPrefix(got, `{"k":"`) {
					t.Errorf("depth %d: Text(%s) = %s", depth+1, s, got)
				}
			}
		}
	}
	c := cleaner(t, "a😀b-word-771")
	for _, text := range []string{`a\uD83D\uDE00b-word-771`, `a\ud83d\ude00b-word-771`, `a\U0001f600b-word-771`, `\u0061\U0001F600\U00000062-word-771`} {
		if got := string(c.Text(text + " end")); got != "[REDACTED:secret] end" {
			t.Errorf("Text(%s) = %s", text, got)
		}
	}
}
