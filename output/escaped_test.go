package output_test

import (
	"strings"
	"testing"
)

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
		if got := c.Text("see\n" + text + " here"); !strings.Contains(got, "[REDACTED:secret]") || !strings.HasSuffix(got, " here") {
			t.Errorf("%s: Text(%q) = %q", name, text, got)
		}
	}
	for _, text := range []string{"- hunter2\n- item", "100%25 &amp; h&#117;nter2", "h%75nter2-", `\u0068unter2`} {
		if got := c.Text(text); got != text {
			t.Errorf("Text(%q) = %q, want it unchanged", text, got)
		}
	}
}
