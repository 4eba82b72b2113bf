package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/ceiling"
)

// Question is what a person is asked about a held call beside the call: what is new about
// it, and what a yes would allow.
type Question struct {
	// News says what is new about the call; nil when nothing is, or that is not known.
	News []string `json:"new,omitempty"`
	// Allows is what a yes would allow; nil when the call cannot be decided any more.
	Allows *Allowances `json:"allows,omitempty"`
	// Approvers says who may decide and who said yes; nil when no rule says anything, or
	// the call cannot be decided any more.
	Approvers *Yeses `json:"approvers,omitempty"`
}

// Allowances are the three things that a yes may allow.
type Allowances struct {
	// Once is this call.
	Once OnceAllowed `json:"once"`
	// Session is the rule for the session.
	Session SessionAllowed `json:"session"`
	// Always is what would count from now on; nil when that is not offered, since several
	// people decide about each run.
	Always *Always `json:"always"`
}

// OnceAllowed is a yes for one run.
type OnceAllowed struct {
	// Runs is 1.
	Runs int `json:"runs"`
	// Until is when the yes ends if the call did not run.
	Until time.Time `json:"until"`
}

// SessionAllowed is a yes for the session.
type SessionAllowed struct {
	// Rule is the rule for the same arguments; nil when there can be none.
	Rule *approvals.Rule `json:"rule,omitempty"`
	// Hours is how long it counts.
	Hours int `json:"hours,omitempty"`
	// NotOffered says why there can be none; empty when there can.
	NotOffered string `json:"not_offered,omitempty"`
}

// DescribeQuestion returns the question about a held call. What is new is left out when
// the record cannot be read.
func (rt *Runtime) DescribeQuestion(ctx context.Context, a *sallyport.Approval) Question {
	var q Question
	if a.StateAt(time.Now()) != sallyport.ApprovalPending {
		return q
	}
	q.News, _ = rt.FindNews(ctx, a) // what cannot be told is left out
	if all, err := rt.DescribeYeses(ctx, []sallyport.Approval{*a}); err == nil {
		q.Approvers = all[a.ID]
	}
	if rules := rt.approversOf(a); rules.AsksSeveral() {
		q.Allows = &Allowances{Once: OnceAllowed{1, a.Expires}, Session: SessionAllowed{NotOffered: approvals.ErrSeveralNeeded.Error()}}
		return q
	}
	q.Allows = &Allowances{Once: OnceAllowed{1, a.Expires}, Always: rt.ProposeAlways(a)}
	rule, err := approvals.ProposeRule(a, nil)
	if err != nil {
		q.Allows.Session.NotOffered = err.Error()
		return q
	}
	rule.Shape = nil // digests, of which a person reads nothing
	q.Allows.Session = SessionAllowed{Rule: rule, Hours: int(approvals.RuleLife / time.Hour)}
	return q
}

// LiftsSums reports whether a call is held because of the sum of an argument: an
// exception would let it run whatever the sum is.
func LiftsSums(a *approvals.Exception) bool { return strings.Contains(a.Why, ceiling.SumExceeded) }

// News returns what is new about a held call, for the person behind a client.
func (d recordingDesk) News(ctx context.Context, a *sallyport.Approval) []string {
	news, err := d.g.FindNews(ctx, a)
	if err != nil && d.g.Logger != nil {
		d.g.Logger.Warn(fmt.Sprintf("what is new about held call %s is not known", a.ID), "error", err)
	}
	return news
}
