package report

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/group"
)

// ServerReport is what check reports about an upstream server.
type ServerReport struct {
	// Name is the server's name in the configuration.
	Name string `json:"name"`
	// Source is file:line:column of the declaration.
	Source string `json:"source"`
	// Started is true for a server that answered.
	Started bool `json:"started"`
	// Why is the reason why the server did not answer.
	Why string `json:"why,omitempty"`
	// Personality is the role in which the server was asked.
	Personality string `json:"personality,omitempty"`
	// Implied lists what the naming of the server grants.
	Implied []string `json:"implied"`
	// Declared lists what the operator wrote.
	Declared []string `json:"declared"`
	// Tools lists the tools that are mounted.
	Tools []string `json:"tools"`
	// Left lists what the server offers and what is not mounted.
	Left []pinning.LeftOut `json:"left_out,omitempty"`
	// Refused is true when the server was not started, because its launch
	// differs from the pinned one.
	Refused bool `json:"refused,omitempty"`
	// Pinned is true when the lock file has the server.
	Pinned bool `json:"pinned"`
	// Quarantined is true when the server offers a definition that differs from its pin.
	Quarantined bool `json:"quarantined,omitempty"`
}

// DescribeServers describes the servers that were asked.
func DescribeServers(s *app.Servers) (list []ServerReport) {
	for _, f := range s.Found {
		implied := f.Implied()
		r := ServerReport{
			Name: f.Name, Source: f.Part.Source(""), Started: f.Why == "", Why: f.Reason(), Personality: f.Role,
			Implied: declaredItems(&implied), Declared: declaredItems(&f.Capabilities), Tools: append([]string{}, f.Tools...),
		}
		for _, l := range f.Left {
			r.Left = append(r.Left, pinning.LeftOut{Tool: l.Tool, Why: l.Why})
		}
		_, r.Pinned = s.Pins.PinnedServer(f.Name)
		r.Quarantined, r.Refused = f.Held, s.Pins.LastRefusal(f.Name) != "" || s.Pins.Servers[f.Name].Why != ""
		list = append(list, r)
	}
	return list
}

// declaredItems lists a declaration item by item.
func declaredItems(c *sallyport.Capabilities) []string {
	out := []string{}
	for _, g := range group.All() {
		for _, r := range g.Reaches {
			if r.Granted == nil || r.Denied {
				continue
			}
			for _, item := range r.Declared(c) {
				out = append(out, r.Name+" "+item)
			}
		}
	}
	return out
}

// PrintServers prints what check reports about upstream servers.
func PrintServers(p *Printer, list []ServerReport) {
	if len(list) == 0 {
		return
	}
	p.PrintLine("")
	rows := [][]string{{"MCP SERVER", "STATE", "TOOLS", "IMPLIED", "DECLARED"}}
	for i := range list {
		r := &list[i]
		state := p.ColourGood("answers")
		switch {
		case r.Personality == "" || r.Refused:
			state = p.ColourBad("not started")
		case !r.Started:
			state = p.ColourBad("does not answer")
		}
		implied, declared := strings.Join(r.Implied, ", "), strings.Join(r.Declared, ", ")
		rows = append(rows, []string{
			r.Name, state, strconv.Itoa(len(r.Tools)), cmp.Or(implied, "nothing"), cmp.Or(declared, "nothing"),
		})
	}
	p.PrintTable(rows)
	for i := range list {
		if r := &list[i]; !r.Started {
			p.PrintLine("%s %s: %s", p.ColourBad("server"), r.Name, r.Why)
		}
		for _, l := range list[i].Left {
			p.PrintLine("%s %s of %s: %s", p.ColourBad("left out"), l.Tool, list[i].Name, l.Why)
		}
	}
}
