package upstream

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// TestASecretInALongLine of standard error is removed wherever it stands: also over the
// place where the line is cut, and over that from which on it is not kept.
func TestASecretInALongLine(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-Zq9xY7w-0123456789"
	cleaner, err := output.New(&output.Options{Secrets: []sallyport.Secret{sallyport.NewSecret(secret)}})
	if err != nil {
		t.Fatal(err)
	}
	escapes := strings.Repeat("\x1b[0m", maxLine/4)
	for name, line := range map[string]string{
		"over the cut":            strings.Repeat("x", maxShown-20) + " " + secret,
		"over the bound":          strings.Repeat("x", maxLine-20) + " " + secret,
		"over the bound, escaped": escapes[:maxLine-20] + " " + secret,
		"at the bound":            escapes[:maxLine-len(secret)] + secret,
	} {
		for _, piece := range []int{1, 1000, len(line)} {
			var log bytes.Buffer
			w := stderrLog{log: slog.New(slog.NewTextHandler(&log, nil)), plain: func(s string) string { return string(cleaner.Text(s)) }, count: func(int) {}}
			for rest := line + " Error\n"; rest != ""; rest = rest[min(piece, len(rest)):] {
				_, _ = w.Write([]byte(rest[:min(piece, len(rest))]))
			}
			said := log.String() + w.lastLine()
			if strings.Contains(said, secret[:4]) {
				t.Errorf("%s, in pieces of %d bytes: the log has a part of the secret: %.100q…", name, piece, said)
			}
			if n := len(w.lastLine()); n == 0 || n > maxShown || cap(w.line) > 4*maxShown {
				t.Errorf("%s: %d bytes are shown and %d kept", name, n, cap(w.line))
			}
		}
	}
}

// TestLinesOfStandardError are passed on whole, without blanks around them, and the last
// one that names an error is kept.
func TestLinesOfStandardError(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := stderrLog{log: slog.New(slog.NewTextHandler(&log, nil)), plain: strings.ToUpper, count: func(int) {}}
	_, _ = w.Write([]byte("one\r\n\n  Error: two \nthree\n" + strings.Repeat("y", 2*maxLine) + "\nfo"))
	_, _ = w.Write([]byte("ur"))
	if got := w.lastLine(); got != "ERROR: TWO" {
		t.Errorf("the last line = %q", got)
	}
	for _, want := range []string{"text=ONE\n", `text="ERROR: TWO"`, "text=THREE\n", strings.ToUpper(longLine), "text=FOUR\n"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "YYY") {
		t.Error("the log has a line that is too long")
	}
}
