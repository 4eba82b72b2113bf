package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/report"
)

func TestProgressSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Unix(1, 0)
	p := report.NewProgress(&out, func() time.Time { return now })
	p.Expect(3)
	p.Begin("installing a\x1b[2J")
	now = now.Add(10 * time.Second)
	p.Done()
	p.Begin("installing b")
	if _, err := p.Write([]byte("warning\n")); err != nil {
		t.Fatal(err)
	}
	p.Done()
	p.Done()
	const erase = "\r\x1b[K"
	got := strings.Split(strings.TrimPrefix(out.String(), erase), erase)
	for _, line := range []string{"[1/3] installing a", ", about 20s left", "[2/3] installing b, about 20s left", "warning\n", "[3/3] installing b, about 5s left"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("the terminal gets %q, want %q in it", out.String(), line)
		}
	}
	if strings.Contains(out.String(), "\x1b[2J") || got[len(got)-1] != "" {
		t.Errorf("the terminal gets %q, want the line erased at the end, and no sequence of a server", out.String())
	}
}
