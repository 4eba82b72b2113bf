package command

import (
	"strconv"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/pinning"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/internal/report"
)

// serverReport is what check reports about an upstream server.
type serverReport struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Started bool   `json:"started"`
	// Why is the reason why the server did not answer.
	Why string `json:"why,omitempty"`
	// Personality is the role in which the server was asked.
	Personality string `json:"personality,omitempty"`
	// Implied lists what the naming of the server grants, Declared what the
	// operator wrote.
	Implied  []string          `json:"implied"`
	Declared []string          `json:"declared"`
	Tools    []string          `json:"tools"`
	Left     []pinning.LeftOut `json:"left_out,omitempty"`
	// Refused is true when the server was not started, because its launch
	// differs from the pinned one.
	Refused bool `json:"refused,omitempty"`
	// Pinned is true when the lock file has the server, Quarantined when it
	// offers a definition that differs from its pin.
	Pinned      bool `json:"pinned"`
	Quarantined bool `json:"quarantined,omitempty"`
}

// reportServers describes the servers that were asked.
func reportServers(s *app.Servers) (list []serverReport) {
	for _, f := range s.Found {
		implied := f.Implied()
		r := serverReport{
			Name: f.Name, Source: f.Part.Source(""), Started: f.Why == "", Why: f.Why, Personality: f.Role,
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

// printServers prints what check reports about upstream servers.
func printServers(p *report.Printer, list []serverReport) {
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
		rows = append(rows, []string{r.Name, state, strconv.Itoa(len(r.Tools)), orNothing(r.Implied), orNothing(r.Declared)})
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

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
