package page

import (
	"net/http"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

// serversBody is what the page of the MCP servers shows. Its texts are clean.
type serversBody struct{ Servers []serverRow }

// serverRow is one MCP server.
type serverRow struct {
	Name, State, Why, Version, Where string
	Roles                            []string
	Offers                           int
	Pinned, Good                     bool
	Held                             []heldBack
	Changes                          []driftRow
	Accept, Diff                     string
}

// heldBack is a definition that no caller can use.
type heldBack struct{ Kind, Name, Why string }

// driftRow is one difference between what was pinned and what a server offers now.
type driftRow struct {
	Severity, What, Message, Was, Is string
	Bad, Cut                         bool
}

// showServers shows the MCP servers, and how they differ from their pins.
func (s *Site) showServers(w http.ResponseWriter, r *http.Request) {
	s.showPart(w, r, http.StatusOK, "servers", frame{Title: "Servers", Body: &serversBody{s.describeServers(s.live.InForce())}})
}

func (s *Site) describeServers(d *app.Deployment) (rows []serverRow) {
	m := &d.Servers
	if m.Mounts == nil {
		return nil
	}
	offers, away, held := m.ListOffers(), m.Mounts.Unavailable(), m.Mounts.Quarantined()
	for i := range m.Declared {
		name := m.Declared[i].Name
		row := serverRow{Name: cleanText(name), State: "answers", Good: true, Where: cleanText(m.Declared[i].URL)}
		if len(m.Declared[i].Command) > 0 {
			row.Where = cleanText(text.ShellLine(m.Declared[i].Command))
		}
		for _, role := range d.RolesWith(name) {
			row.Roles = append(row.Roles, cleanText(role))
		}
		_, row.Pinned = m.Pins.PinnedServer(name)
		offer := offers[name]
		switch refused := m.Pins.LastRefusal(name); {
		case refused != "":
			row.State, row.Why, row.Good = "blocked", cleanText(refused), false
		case away[name] != "":
			row.State, row.Why, row.Good = "away", cleanText(away[name]), false
		case offer == nil:
			row.State, row.Why, row.Good = "not asked", "it did not answer yet, or no role lists it", false
		}
		if offer != nil {
			row.Offers = len(offer.Tools) + len(offer.Prompts) + len(offer.Resources) + len(offer.Templates)
			row.Version = cleanText(string(offer.Identity))
			row.Changes = describeDrift(d, name, offer)
		}
		for _, h := range held {
			if h.Server == name {
				row.Held = append(row.Held, heldBack{cleanText(h.Kind), cleanText(h.Tool), cleanText(h.Why)})
			}
		}
		if len(row.Changes)+len(row.Held) > 0 || row.State == "blocked" {
			row.Diff, row.Accept = s.rt.CommandLine("diff "+text.ShellWord(name)), s.rt.CommandLine("lock accept "+text.ShellWord(name))
		}
		rows = append(rows, row)
	}
	return rows
}

// describeDrift returns how what a server offers differs from its pins, the worst first.
func describeDrift(d *app.Deployment, name string, offer *lock.Offer) (rows []driftRow) {
	m := &d.Servers
	was, pinned := m.Pins.PinnedServer(name)
	now, _, err := lock.Take(name, offer, m.Cleaner)
	if !pinned || err != nil {
		return nil
	}
	now.Launch = was.Launch // what is launched is compared before each start
	var own []string
	for i := range d.Tools {
		own = append(own, d.Tools[i].Name)
	}
	of := func(one lock.Server) *lock.File { return &lock.File{Servers: map[string]lock.Server{name: one}} }
	for _, c := range lock.Diff(of(was), of(now), own...) {
		what := string(c.Kind)
		if c.Name != "" {
			what += " " + c.Name
		}
		if c.Field != "" {
			what += " " + c.Field
		}
		rows = append(rows, driftRow{
			Severity: string(c.Severity), Bad: c.Severity.AtLeast(lock.SeverityHigh), What: cleanText(what), Message: cleanText(c.Message),
			Was: cleanJSON(c.Was), Is: cleanJSON(c.Is), Cut: c.Cut,
		})
	}
	return rows
}
