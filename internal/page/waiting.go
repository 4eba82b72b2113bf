package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/digest"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// maxShown bounds the held calls of one page; the others come when these are decided.
	maxShown = 50
	// ledRead and maxLed bound the records that are read to say what led to a held call,
	// and the calls that are named.
	ledRead, maxLed = 300, 12
)

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

// earlierCall is an earlier call of the session of a held call.
type earlierCall struct {
	ID, Tool, Outcome  string
	At                 time.Time
	Untrusted, Private bool
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
	body := waitingBody{Total: len(list), More: max(len(list)-maxShown, 0)}
	for i := range list[:min(len(list), maxShown)] {
		body.Calls = append(body.Calls, s.describeHeld(r.Context(), &list[i]))
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
	h.Led = s.findLed(ctx, a)
	for _, v := range s.rt.FindReadValues(a) {
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

// findLed returns the calls of the session before a held one, the newest first, and nothing
// when the record cannot be read.
func (s *Site) findLed(ctx context.Context, a *sallyport.Approval) (led []earlierCall) {
	brought := map[string]earlierCall{}
	for e, err := range audit.Events(ctx, s.rt.State, audit.Query{Principal: a.Principal, Last: ledRead}) {
		if err != nil {
			return nil
		}
		if string(e.Session) != a.Session || e.CallID == a.CallID || e.Kind == audit.KindChange || e.Time.After(a.Created) {
			continue
		}
		one := brought[e.CallID]
		if e.Brought != nil {
			one.Untrusted, one.Private = one.Untrusted || e.Brought.Untrusted, one.Private || e.Brought.Private
		}
		brought[e.CallID] = one
		if e.Kind == audit.KindOutcome {
			one.ID, one.Tool, one.Outcome, one.At = e.CallID, cleanText(e.Tool), outcomeOf(&e), e.Time
			led = append(led, one)
		}
	}
	slices.Reverse(led)
	return led[:min(len(led), maxLed)]
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
