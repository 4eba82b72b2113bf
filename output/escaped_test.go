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
		"no-break spaces":     strings.Join(strings.Split(value, ""), "\u00a0"),
		"Braille blanks":      strings.Join(strings.Split(value, ""), "\u2800"),
		"blanks of two kinds": strings.Join(strings.Split(value, ""), " \u00a0"),
		"full width":          wide,
		"full width in part":  wide[:9] + value[3:],
	} {
		if got := c.Text("see\n" + text + " here"); !strings.Contains(got, "[REDACTED:secret]") || !strings.HasSuffix(got, " here") {
			t.Errorf("%s: Text(%q) = %q", name, text, got)
		}
	}
}
