package report_test

import (
	"testing"

	"github.com/sallyport/sallyport/internal/report"
)

func TestEscapeControls(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain / äé 中":       "plain / äé 中",
		"a\x1b[31m\r\nb":     `a\u{1b}[31m\u{d} b`,
		"a\u202eb\u200b":     `a\u{202e}b\u{200b}`,
		"bad \xff":           `bad \u{fffd}`,
		"tab\t\u00a0\u2028x": `tab\u{9}\u{a0}\u{2028}x`,
	} {
		if got := report.EscapeControls(in); got != want {
			t.Errorf("EscapeControls(%q) = %q, want %q", in, got, want)
		}
	}
}
