package page

import (
	"net/http"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/report"
)

// maxCallRecords bounds the records of one call that are shown.
const maxCallRecords = 100

// callBody is what the page of one call shows. Its texts are clean.
type callBody struct {
	ID, Tool, Who, Role, Session, Agent, Surface string
	Args, Explained                              string
	Records                                      []callRecord
	More                                         bool
}

// callRecord is one record of a call.
type callRecord struct {
	Seq                        int64
	At                         time.Time
	Kind, Outcome, Code, Error string
	Took, After                string // After is the time since the first record
	Level, Size                string
	Steps                      []*decided
}

// decided is what one step decided.
type decided struct {
	Step, What, Why, Source, Fix string
	Allowed                      bool
}

// Plain reports whether there is nothing to say about a step but that it let the call pass.
func (d *decided) Plain() bool { return d.Allowed && d.What == "" && d.Why == "" && d.Source == "" }

// showCall shows the history of a call, each step with its reason.
func (s *Site) showCall(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var events []audit.Event
	for e, err := range audit.Events(r.Context(), s.rt.State, audit.Query{Call: id, Last: maxCallRecords}) {
		if err != nil {
			s.refuseRequest(w, r, http.StatusServiceUnavailable, "The record cannot be read now.")
			return
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		s.refuseRequest(w, r, http.StatusNotFound, "No record has this id.")
		return
	}
	b := callBody{ID: cleanText(id), More: len(events) == maxCallRecords}
	for i := range events {
		b.add(&events[i], events[0].Time)
	}
	var said strings.Builder
	p := &report.Printer{W: &said, Trim: s.rt.TrimCommands}
	if report.PrintCall(p, events) == nil {
		b.Explained = cleanLines(said.String())
	}
	s.showPart(w, r, http.StatusOK, "call", frame{Title: "Call of " + b.Tool, Body: &b})
}

func (b *callBody) add(e *audit.Event, begin time.Time) {
	if e.Kind != audit.KindChange || b.Tool == "" {
		b.Tool, b.Who, b.Role, b.Session = cleanText(e.Tool), cleanText(e.Principal), cleanText(e.Personality), cleanText(e.Session)
		b.Agent, b.Surface = cleanText(e.Agent), cleanText(e.Platform)
	}
	if e.Args != "" {
		b.Args = cleanJSON(string(e.Args))
	}
	c := callRecord{
		Seq: e.Seq, At: e.Time, Kind: string(e.Kind), Outcome: outcomeOf(e), Code: cleanText(e.Code), Error: cleanText(e.Error), Level: cleanText(e.Level),
	}
	if e.Change != nil {
		c.Kind, c.Error = cleanText(string(e.Change.Action)+" by "+e.Principal), cleanText(string(e.Change.Detail)+string(e.Error))
	}
	if e.Kind == audit.KindOutcome {
		c.Took = spanOf(e.Duration)
	}
	if d := e.Time.Sub(begin); d > 0 {
		c.After = "+" + spanOf(d)
	}
	for i := range e.Decisions {
		c.Steps = append(c.Steps, decidedOf(&e.Decisions[i]))
	}
	b.Records = append(b.Records, c)
}

func decidedOf(d *sallyport.Decision) *decided {
	return &decided{
		Step: cleanText(d.Step), What: cleanText(strings.TrimSpace(d.Capability + " " + d.Resource)), Why: cleanText(d.Why),
		Source: cleanText(d.Source), Fix: cleanText(d.Fix), Allowed: d.Allowed,
	}
}
