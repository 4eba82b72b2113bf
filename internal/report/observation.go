package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/sandbox"
)

// PrintObservation prints YAML that a user can paste: the declaration, and
// everything else as comments.
func PrintObservation(p *Printer, seen *sandbox.Observation, args []string) {
	remark := func(format string, a ...any) { p.PrintLine("# %s", text.OneLine(fmt.Sprintf(format, a...))) }
	remark("what one run of this needed: %s", text.Clip(strings.Join(args, " "), 200))
	printCapabilities(p, &seen.Capabilities)
	if more := seen.Binaries; len(more) > 1 {
		remark("also started (no declaration needed):")
		printItems(p, more[1:])
	}
	for _, group := range []struct {
		title string
		floor bool
	}{{"used, and never given to any child:", true}, {"used, and not declared:", false}} {
		titled := false
		for _, w := range seen.Withheld {
			if w.Floor != group.floor {
				continue
			}
			if !titled {
				remark("%s", group.title)
				titled = true
			}
			p.PrintLine("#   %s", text.OneLine(fmt.Sprintf("%s %s: %s", w.Kind, w.Item, w.Why)))
		}
	}
	if len(seen.Missed) > 0 {
		remark("looked for and not found, or not readable:")
		printItems(p, seen.Missed)
	}
	for _, n := range seen.Notes {
		remark("note: %s", n)
	}
	if seen.More {
		remark("note: the program used more than the list can hold: the declaration may be too small")
	}
	remark("cannot be seen in any run:")
	printItems(p, seen.Unseen)
}

// printItems prints the first items of a list; --json prints all of them.
func printItems(p *Printer, list []string) {
	const shown = 10
	for i, item := range list {
		if i == shown {
			p.PrintLine("#   and %d more, with --json", len(list)-shown)
			return
		}
		p.PrintLine("#   %s", text.OneLine(item))
	}
}

// printCapabilities prints a declaration as YAML. It writes values as JSON
// strings, which YAML reads unchanged.
func printCapabilities(p *Printer, c *sallyport.Capabilities) {
	if c.Empty() {
		p.PrintLine("capabilities: {}")
		return
	}
	p.PrintLine("capabilities:")
	list := func(key string, items []string) {
		if len(items) == 0 {
			return
		}
		p.PrintLine("    %s:", key)
		for _, item := range items {
			p.PrintLine("      - %s", quoteText(item))
		}
	}
	if n := c.Network; n != nil {
		p.PrintLine("  network:")
		list("allowedHosts", n.AllowedHosts)
	}
	if fs := c.FSReach; fs != nil {
		p.PrintLine("  fs_reach:")
		list("read", fs.Read.Paths)
		list("write", fs.Write.Paths)
	}
	if b := c.Process; b != nil {
		p.PrintLine("  process:")
		list("allowedBinaries", b.AllowedBinaries)
		list("execFrom", b.ExecFrom)
	}
}

// quoteText returns a string in double quotes.
func quoteText(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // marshalling a string cannot fail
	}
	return strings.TrimSpace(b.String())
}
