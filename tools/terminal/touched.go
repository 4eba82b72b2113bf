package terminal

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxTouched bounds each list of what a child touched, maxTouchedChars
	// each of its entries in code points: the child chooses both.
	maxTouched      = 50
	maxTouchedChars = 300
	// maxOnFloor and maxOnFloorChars are the same for the text, and fit into
	// its margin.
	maxOnFloor      = 4
	maxOnFloorChars = 80
)

// changedOnFloor is the line about what is new where the next program may run
// it, such as a hook of a repository.
func changedOnFloor(t sallyport.Touched) []string {
	if len(t.ChangedOnFloor) == 0 {
		return nil
	}
	var names []string
	for _, p := range t.ChangedOnFloor[:min(len(t.ChangedOnFloor), maxOnFloor)] {
		names = append(names, quoteUnprintable(text.FirstChars(p, maxOnFloorChars)))
	}
	line := "on the deny floor, changed at the same time, by an unknown writer: " + strings.Join(names, ", ")
	if n := len(t.ChangedOnFloor) - maxOnFloor; n > 0 {
		line += fmt.Sprintf(" and %d more", n)
	}
	return []string{line}
}

// withheldLines returns the line about folders of which a child saw a part
// only.
func withheldLines(t sallyport.Touched) []string {
	if len(t.Withheld) == 0 {
		return nil
	}
	line := "shown in part, because too much lies in it: " + quoteUnprintable(text.FirstChars(t.Withheld[0], maxOnFloorChars))
	if n := len(t.Withheld) - 1; n > 0 {
		line += fmt.Sprintf(" and %d more", n)
	}
	return []string{line}
}

// layerFull is the line about why a child in overlay mode could write no more.
func layerFull(res sallyport.ProcessResult) []string {
	if res.LayerFull == "" {
		return nil
	}
	return []string{"no space left: the private layer that takes the writes is full (" + res.LayerFull + ")"}
}

// touchedData returns what a background child did, as data. The call that
// started it ended before, so that no other result says it. Hosts that were
// reached come before those that were refused: names alone must not push them
// out.
func touchedData(t sallyport.Touched) map[string]any {
	var hosts []any
	for _, allowed := range []bool{true, false} {
		for _, h := range t.Hosts {
			if h.Allowed != allowed {
				continue
			}
			one := map[string]any{
				"host": h.Host, "port": h.Port, "allowed": h.Allowed, "connections": h.Connections,
				"sent": h.Sent, "received": h.Received,
			}
			if h.Why != "" {
				one["why"] = h.Why
			}
			hosts = append(hosts, one)
		}
	}
	out := map[string]any{}
	more := t.More
	for name, list := range map[string][]any{
		"hosts": hosts, "binaries": toAnyList(t.Binaries), "written": toAnyList(t.Written),
		"changed": toAnyList(t.Changed), "changed_on_floor": toAnyList(t.ChangedOnFloor),
		"withheld": toAnyList(t.Withheld),
	} {
		if len(list) > maxTouched {
			list, more = list[:maxTouched], true
		}
		if len(list) > 0 {
			out[name] = list
		}
	}
	if more {
		out["more"] = true
	}
	return out
}

func toAnyList(list []string) []any {
	var out []any
	for _, s := range list {
		out = append(out, text.FirstChars(s, maxTouchedChars))
	}
	return out
}
