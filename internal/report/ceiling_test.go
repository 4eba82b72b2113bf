package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/ceiling"
)

// TestACeilingIsShownWhole: an operator reads every bound of it, and for each what becomes of
// another value.
func TestACeilingIsShownWhole(t *testing.T) {
	t.Parallel()
	payees := `["` + strings.Repeat("payee-of-a-long-name, ", 6) + `the-last-one"]`
	var b strings.Builder
	printCeilings(&Printer{W: &b}, []ceiling.Row{
		{
			Argument: "/amount", Declared: json.RawMessage(`{"type":"number"}`), Granted: json.RawMessage(`{"type":"number"}`), Outside: ceiling.Hold,
			Ceiling: json.RawMessage(`{"else":"hold","from_untrusted":"refuse","maximum":600,"sum":{"max":1000,"per":"24h"}}`), Source: "s.yaml:9:9",
		},
		{
			Argument: "/to", Declared: json.RawMessage(`{"type":"string"}`), Granted: json.RawMessage(`{"type":"string"}`), Outside: ceiling.Refuse,
			Ceiling: json.RawMessage(`{"enum":` + payees + `,"from_untrusted":"hold"}`),
		},
		{Argument: "/cc", Declared: json.RawMessage(`{"type":"string"}`), Outside: ceiling.Refuse, Ceiling: json.RawMessage(`false`)},
	})
	var shown []string // without the blanks that align
	for line := range strings.Lines(b.String()) {
		shown = append(shown, strings.Join(strings.Fields(line), " "))
	}
	got := strings.Join(shown, "\n") + "\n"
	for _, want := range []string{
		`/amount {"type":"number"} from_untrusted: "refuse" {"type":"number"} within what the role says refuse s.yaml:9:9` + "\n" +
			"maximum: 600 hold\n" + `sum: {"max":1000,"per":"24h"} hold` + "\n",
		`/cc {"type":"string"} false no value refuse` + "\n",
		`from_untrusted: "hold" hold` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table is\n%s\nwant it to have\n%s", got, want)
		}
	}
	if !strings.Contains(got, "the-last-one") {
		t.Errorf("the table is\n%s\nwant the whole list", got)
	}
}
