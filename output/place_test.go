package output_test

import (
	"strings"
	"testing"
)

// A known value that is the beginning of a longer one, or a line of it, does not
// keep the longer one from being found where a control splits it.
func TestA18_ControlsInsideAValueThatHoldsAnother(t *testing.T) {
	t.Parallel()
	const short, long, lines = "hunter2hunter2", "hunter2hunter2:SuperPassw0rd!", "first-line-of-16-bytes\nab12"
	c := cleaner(t, short, long, lines)
	for _, value := range []string{long, lines} {
		for _, control := range []string{"\x1b[31m", "\x00", "\x1b]0;title\x07", "\u009b1m", "\x7f", "\x1b[1m\x00\x00"} {
			for k := len(value) - 3; k < len(value); k++ {
				split := value[:k] + control + value[k:]
				text := "\x01 a\xff\xfe\r" + split + "\x02 mid\r" + split + control + " end"
				want := "\x01 a\ufffd\n[REDACTED:secret] mid\n[REDACTED:secret] end"[1:]
				if got := string(c.Text(text)); got != want {
					t.Errorf("Text(%q) = %q, want %q", text, got, want)
				}
			}
		}
	}
	if got := string(c.Text("\x1b[" + long + "\x00 end")); strings.Contains(got, "unter2") || !strings.HasSuffix(got, "] end") {
		t.Errorf("a value behind an open sequence is left as %q", got)
	}
}
