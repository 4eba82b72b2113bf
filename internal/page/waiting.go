package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/text"
)

// maxShown bounds the held calls of one page; the others come when these are decided.
const maxShown = 50

// held is a held call as the page shows it. Its texts are clean.
type held struct {
	ID, Digest, Tool, Who, Role, Session string
	Args, Why, CallID                    string
	Hidden                               int
	Cut                                  bool // the arguments are longer than what is shown
	Targets, News                        []string
	Created, Expires                     time.Time
	Led                                  []earlierCall
	Values                               []foreignValue
	MoreRead                             bool // what was read may hold other values
	// Rule and RuleSays are what a yes for the session gives, or why there is none.
	Rule, RuleSays, NoRule string
	// Always and AlwaysSays are what a yes for always gives.
	Always     string
	AlwaysSays []string
	// Yeses says how many people have said yes; empty where one decides. By names who may
	// decide, and Later who may from EscalatesAt on; all are empty where all may.
	Yeses, By, Later string
	EscalatesAt      time.Time
	// MayNot is why the person who looks may not decide; empty when they may.
	MayNot string
}

// foreignValue is a value of the arguments that stood in what the session had read.
type foreignValue struct{ Place, Value, Tool, Call string }

// waitingBody is what the page of the held calls shows.
type waitingBody struct {
	Calls       []held
	Total, More int
}

// showWaiting shows the held calls, the one that expires first at the top.
func (s *Site) showWaiting(w http.ResponseWriter, r *http.Request) {
	s.showHeld(w, r, http.StatusOK, "", false)
}

func (s *Site) showHeld(w http.ResponseWriter, r *http.Request, status int, said string, bad bool) {
	s.lookAgain()
	list, err := s.rt.ListHeld(r.Context())
	if err != nil {
		s.refuseRequest(w, r, http.StatusServiceUnavailable, "The held calls cannot be read now.")
		return
	}
	s.led.forgetEnded(list)
	body := waitingBody{Total: len(list), More: max(len(list)-maxShown, 0)}
	list = list[:min(len(list), maxShown)]
	led := s.findLed(r.Context(), list)
	for i := range list {
		body.Calls = append(body.Calls, s.describeHeld(r.Context(), &list[i]))
		body.Calls[i].Led = led[list[i].ID]
	}
	s.showPart(w, r, status, "waiting", frame{Title: "Waiting", Said: cleanText(said), Bad: bad, Body: &body})
}

// describeHeld returns a held call with what a person needs to decide about it, but for
// what led to it.
func (s *Site) describeHeld(ctx context.Context, a *sallyport.Approval) held {
	h := held{
		Cut: !json.Valid([]byte(a.Args)),
		ID:  a.ID, Digest: a.Digest, Tool: cleanText(a.Tool), Who: cleanText(a.Principal), Role: cleanText(a.Personality), Session: cleanText(a.Session),
		Args: cleanJSON(a.Args), Why: cleanText(a.Why), CallID: a.CallID, Hidden: a.Hidden, Created: a.Created, Expires: a.Expires,
	}
	for _, t := range a.Targets {
		h.Targets = append(h.Targets, cleanText(t))
	}
	q := s.rt.DescribeQuestion(ctx, a)
	for _, n := range q.News {
		h.News = append(h.News, cleanText(n))
	}
	values, more := s.rt.FindReadValues(ctx, a)
	h.MoreRead = more
	for _, v := range values {
		h.Values = append(h.Values, foreignValue{cleanText(v.Place), cleanText(v.Value), cleanText(v.Tool), v.CallID})
	}
	if p, ok := auth.PrincipalFrom(ctx); ok {
		if err := s.rt.CheckDecider(p.Name, a); err != nil {
			h.MayNot = cleanText(err.Error())
		} else if err := s.rt.CheckWider(p.Name, a); err != nil {
			h.NoRule = cleanText(err.Error())
			h.AlwaysSays = []string{h.NoRule}
		}
	}
	if y := q.Approvers; y != nil {
		h.Yeses, h.By, h.Later = cleanText(strings.Join(y.Lines(), "")), cleanText(strings.Join(y.By, ", ")), cleanText(strings.Join(y.EscalatesTo, ", "))
		if y.EscalatesAt != nil {
			h.EscalatesAt = *y.EscalatesAt
		}
	}
	if h.AlwaysSays != nil {
		return h
	}
	if q.Allows != nil && q.Allows.Always == nil {
		h.NoRule, h.AlwaysSays = cleanText(q.Allows.Session.NotOffered), []string{cleanText(q.Allows.Session.NotOffered)}
		return h
	}
	if rule, err := approvals.ProposeRule(a, nil); err != nil {
		h.NoRule = cleanText(err.Error())
	} else {
		h.Rule = rule.Digest()
		h.RuleSays = cleanText(fmt.Sprintf("%s in session %+q, with %s: %s, for %s", rule.Tool, rule.Session, rule.Describe(),
			text.CountOf(rule.Runs, "run"), text.CountOf(int(approvals.RuleLife/time.Hour), "hour")))
	}
	always := s.rt.ProposeAlways(a)
	h.Always, h.AlwaysSays = digestOf(always), describeAlways(always)
	return h
}

// digestOf identifies what a yes for always was shown to give.
func digestOf(always *app.Always) string {
	b, err := json.Marshal(always)
	if err != nil {
		return "" // which no form gives back
	}
	return digest.Text(b)
}

// describeAlways says on a line each what a yes for always gives.
func describeAlways(always *app.Always) (lines []string) {
	for _, m := range always.Members {
		line := fmt.Sprintf("known.%s gets %+q", m.Set, m.Value)
		if len(m.UsedBy) > 0 {
			line += ", which then passes " + strings.Join(m.UsedBy, ", ")
		}
		lines = append(lines, cleanText(line))
	}
	if e := always.Exception; e != nil {
		lines = append(lines, cleanText("exactly this call of "+e.Principal+"/"+e.Personality+", in any session, until it is revoked"))
		if app.LiftsSums(e) {
			lines = append(lines, "it has no limit any more: no sum holds it")
		}
	}
	return lines
}

// takeDecision takes the form of a held call.
func (s *Site) takeDecision(w http.ResponseWriter, r *http.Request) {
	said, err := s.decideCall(r.Context(), decisionOf(r))
	if err != nil {
		s.showHeld(w, r, http.StatusConflict, "Nothing was decided: "+err.Error(), true)
		return
	}
	s.showHeld(w, r, http.StatusOK, said, false)
}
