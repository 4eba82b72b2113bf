package lock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/output"
)

const (
	// maxShown bounds what is shown of a value in characters: some thirty lines,
	// which a person still reads beside its counterpart.
	maxShown = 2000
	// lead is how much of what is equal is shown around what differs.
	lead = 60
	// maxBrief bounds a name in a message.
	maxBrief = 100
)

// absentValue stands for no value: JSON null is one.
type absentValue struct{}

// showDifference returns two values as JSON texts, cleaned. Of long ones what both begin
// and end with is left out: a sentence at the end of a long description is what
// a reader must not miss. cut reports that what differs is too long to be
// shown, too.
func showDifference(was, is any) (before, after string, cut bool) {
	a, b := []rune(toShownText(was)), []rune(toShownText(is))
	head, tail := 0, 0
	if most := min(len(a), len(b)); max(len(a), len(b)) > maxShown {
		for head < most && a[head] == b[head] {
			head++
		}
		for tail < most-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
			tail++
		}
		head, tail = max(head-lead, 0), max(tail-lead, 0)
	}
	before, cutBefore := clipMiddle(a, head, tail)
	after, cutAfter := clipMiddle(b, head, tail)
	return before, after, cutBefore || cutAfter
}

// clipMiddle returns a text without its head and tail, and says what is left out
// beyond those.
func clipMiddle(s []rune, head, tail int) (string, bool) {
	if len(s) == 0 {
		return "", false
	}
	middle, dots := s[head:len(s)-tail], ""
	if tail > 0 {
		dots = "…"
	}
	over := len(middle) - maxShown
	if over > 0 {
		middle, dots = middle[:maxShown], fmt.Sprintf("… (%d more characters)", over)
	}
	out := string(middle) + dots
	if head > 0 {
		out = "…" + out
	}
	return out, over > 0
}

// toShownText returns a value as JSON on one line, cleaned.
func toShownText(v any) string {
	if _, ok := v.(absentValue); ok {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return ""
	}
	return string(output.Plain().Text(strings.TrimSuffix(b.String(), "\n")))
}

// truncateName cuts a name.
func truncateName(s string) string { return text.Clip(s, maxBrief) }

// cleanName returns a name as a message holds it.
func cleanName(s string) string { return truncateName(string(output.Plain().Text(s))) }
