package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// PrintPinned prints what was pinned: the path of the lock file, the servers, and how many
// definitions are new.
func PrintPinned(p *Printer, path string, states []pinning.ServerState, added int) error {
	if p.JSON {
		return p.PrintJSON(struct {
			File    string                `json:"file"`
			Written bool                  `json:"written"`
			Servers []pinning.ServerState `json:"servers"`
		}{path, added > 0, append([]pinning.ServerState{}, states...)})
	}
	switch {
	case added > 0:
		p.PrintLine("wrote %s: look at it, and keep it with the configuration", path)
	case len(states) == 0:
		p.PrintLine("no MCP server is declared: there is nothing to pin")
	case slices.ContainsFunc(states, func(s pinning.ServerState) bool { return s.State == pinning.StateChanged }):
		p.PrintLine("nothing was added to %s: what differs from a pin is pinned by sallyport lock accept", path)
	case slices.ContainsFunc(states, func(s pinning.ServerState) bool { return s.State == pinning.StatePinned }):
		p.PrintLine("nothing is new in %s", path)
	default:
		p.PrintLine("nothing was pinned")
	}
	rows := [][]string{}
	for i := range states {
		rows = append(rows, []string{states[i].Server, colourPinState(p, states[i].State), text.CountOf(states[i].Offers, "definition")})
	}
	p.PrintTable(rows)
	for i := range states {
		st := &states[i]
		if st.State == pinning.StateChanged {
			p.PrintLine("%s %s differs from its pin: sallyport diff %s shows the changes, and sallyport lock accept %s pins them", p.ColourBad("changed"), st.Server, st.Server, st.Server)
		}
		printState(p, st)
	}
	return nil
}

// printState prints the fault of a server.
func printState(p *Printer, st *pinning.ServerState) {
	if st.Why != "" {
		p.PrintLine("%s %s: %s", p.ColourBad(st.State), st.Server, text.PrintableLine(st.Why))
	}
	for _, l := range st.Left {
		p.PrintLine("%s %s of %s: %s", p.ColourBad("left out"), text.PrintableLine(l.Tool), st.Server, text.PrintableLine(l.Why))
	}
}

func colourPinState(p *Printer, s string) string {
	if s == pinning.StatePinned || s == pinning.StateAdded {
		return p.ColourGood(s)
	}
	return p.ColourBad(s)
}

// PrintDiff prints how servers differ from their pins, the most serious change of each
// server first.
func PrintDiff(p *Printer, d *pinning.LockDiff) error {
	if p.JSON {
		return p.PrintJSON(d)
	}
	if d.Same {
		p.PrintLine("everything is as %s has it", d.File)
	}
	order := PrintChanges(p, d.Changes, func(server string) { printAcceptHints(p, d, server) })
	for i := range d.Servers {
		printState(p, &d.Servers[i])
	}
	// Only the acceptance of everything removes a server that is no longer
	// declared.
	alone := len(order) == 1 && slices.ContainsFunc(d.Servers, func(st pinning.ServerState) bool { return st.Server == order[0] })
	if d.AcceptAll != "" && !alone {
		p.PrintLine("accept all of it: %s", d.AcceptAll)
	}
	return nil
}

// PrintChanges prints the changes below the names of their servers and returns
// these names. It calls after behind the changes of each server.
func PrintChanges(p *Printer, changes []lock.Change, after func(server string)) (order []string) {
	byServer := map[string][]lock.Change{}
	for _, c := range changes {
		byServer[c.Server] = append(byServer[c.Server], c)
	}
	order = slices.Sorted(maps.Keys(byServer))
	for _, server := range order {
		p.PrintLine("%s", server)
		for _, c := range byServer[server] {
			printChange(p, &c)
		}
		after(server)
	}
	return order
}

// printAcceptHints prints the commands that accept the present state of a
// server.
func printAcceptHints(p *Printer, d *pinning.LockDiff, server string) {
	for _, st := range d.Servers {
		if st.Server != server || st.Accept == "" {
			continue
		}
		if !st.Started {
			p.PrintLine("  It was not started: accept its launch, then ask again what it offers.")
		}
		p.PrintLine("  accept: %s", st.Accept)
	}
	for _, c := range d.Changes {
		one := lock.Scope{Server: c.Server, Tool: c.Name}.String()
		if command := d.Tools[one]; c.Server == server && command != "" {
			p.PrintLine("  accept %s alone: %s", text.PrintableLine(c.Name), command)
			delete(d.Tools, one)
		}
	}
}

func printChange(p *Printer, c *lock.Change) {
	severity := string(c.Severity)
	if c.Severity.AtLeast(lock.SeverityHigh) {
		severity = p.ColourBad(severity)
	}
	what := []string{string(c.Kind)}
	for _, s := range []string{c.Name, c.Field} {
		if s != "" {
			what = append(what, text.PrintableLine(s))
		}
	}
	p.PrintLine("  %s %s: %s", severity, strings.Join(what, " "), c.Message)
	for _, side := range []struct{ word, text string }{{"was", c.Was}, {"is ", c.Is}} {
		if side.text != "" {
			p.PrintLine("    %s %s", side.word, text.PrintableLine(side.text))
		}
	}
	if c.Cut {
		p.PrintLine("    there are more differences: read the whole definition before you accept it")
	}
}
