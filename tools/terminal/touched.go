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

// noticeLines returns what a caller should know of a child: why it could write
// no more, what is new where the next program may run it, such as a hook of a
// repository, and folders of which it saw a part only.
func noticeLines(res sallyport.ProcessResult) (lines []string) {
	if res.LayerFull != "" {
		lines = append(lines, "no space left: the private layer that takes the writes is full ("+res.LayerFull+")")
	}
	if list := res.Touched.ChangedOnFloor; len(list) > 0 {
		lines = append(lines, "on the deny floor, changed at the same time, by an unknown writer: "+joinFirst(list, maxOnFloor))
	}
	if list := res.Touched.Withheld; len(list) > 0 {
		lines = append(lines, "shown in part, because too much lies in it: "+joinFirst(list, 1))
	}
	return lines
}

// joinFirst joins the first names of a list and says how many more there are.
func joinFirst(list []string, most int) string {
	var names []string
	for _, p := range list[:min(len(list), most)] {
		names = append(names, quoteUnprintable(text.FirstChars(p, maxOnFloorChars)))
	}
	line := strings.Join(names, ", ")
	if n := len(list) - most; n > 0 {
		line += fmt.Sprintf(" and %d more", n)
	}
	return line
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
