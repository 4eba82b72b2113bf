package page

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
)

// The answers to a held call.
const (
	answerOnce    = "once"
	answerSession = "session"
	answerAlways  = "always"
	answerRefuse  = "refuse"
)

// What is to be decided is not what the person was shown.
var (
	errStale   = errors.New("what it would allow has changed since it was shown: look at it again")
	errUnshown = errors.New(`"shown" is missing: it is what GET /v1/approvals/ID shows for the answer`)
)

// decision is what a person, or a program, says about a held call.
type decision struct {
	// ID is that of the held call, Answer one of the answers.
	ID, Answer string
	// Shown is the digest of what was shown: of the call, of the rule for a session, or
	// of what is given for always. It is required unless the answer is no.
	Shown string
	// Reason is recorded, and told to the caller of a refused call; it may be empty.
	Reason string
	by     string
}

// decisionOf returns what a form says.
func decisionOf(r *http.Request) *decision {
	p, _ := auth.PrincipalFrom(r.Context())
	d := &decision{ID: r.PostForm.Get("id"), Answer: r.PostForm.Get("answer"), Reason: r.PostForm.Get("reason"), by: p.Name}
	d.Shown = r.PostForm.Get("shown-" + d.Answer)
	return d
}

// decideCall carries a decision out and says what was done. A yes is for what was shown, and
// is recorded before it counts.
func (s *Site) decideCall(ctx context.Context, d *decision) (said string, err error) {
	defer s.lookAgain()
	a, err := s.rt.Approvals.Get(ctx, d.ID)
	if err != nil {
		return "", err
	}
	if a.Principal == d.by && d.Answer != answerRefuse {
		return "", fmt.Errorf("%w: %s asked for it", sallyport.ErrApprovalOwn, d.by)
	}
	by, wider := approvals.DeciderNamed(d.by), d.Answer == answerSession || d.Answer == answerAlways
	if err := s.rt.CheckDecision(ctx, &a, by, d.Answer != answerRefuse, wider, d.Reason); err != nil {
		return "", err
	}
	switch d.Answer {
	case answerRefuse:
		return "Refused: " + a.Tool, s.rt.RecordDecision(ctx, &a, by, false, d.Reason)
	case answerOnce:
		if err := compareShown(d.Shown, a.Digest); err != nil {
			return "", err
		}
		if err := s.rt.RecordDecision(ctx, &a, by, true, d.Reason); err != nil {
			return "", err
		}
		return s.describeYes(ctx, &a), nil
	case answerSession:
		rule, err := approvals.ProposeRule(&a, nil)
		if err != nil {
			return "", err
		}
		if err := compareShown(d.Shown, rule.Digest()); err != nil {
			return "", err
		}
		return "Allowed for the session: " + a.Tool, s.rt.GiveRule(ctx, &a, rule, by, d.Reason)
	case answerAlways:
		always := s.rt.ProposeAlways(&a)
		if err := compareShown(d.Shown, digestOf(always)); err != nil {
			return "", err
		}
		return "Allowed for always: " + a.Tool, s.rt.GiveAlways(ctx, &a, always, by, d.Reason, 0)
	default:
		return "", errors.New("expected the answer once, session, always or refuse")
	}
}

// compareShown reports whether a person was shown what a digest is of.
func compareShown(shown, digest string) error {
	switch {
	case shown == "":
		return errUnshown
	case digest == "", subtle.ConstantTimeCompare([]byte(shown), []byte(digest)) != 1:
		return errStale
	}
	return nil
}

// describeYes says what a yes for one run did.
func (s *Site) describeYes(ctx context.Context, a *sallyport.Approval) string {
	if now, err := s.rt.Approvals.Get(ctx, a.ID); err == nil && now.State == sallyport.ApprovalPending {
		if all, err := s.rt.DescribeYeses(ctx, []sallyport.Approval{now}); err == nil && all[a.ID] != nil {
			return "Your yes counts, " + strings.Join(all[a.ID].Lines(), "") + ": " + a.Tool + " waits for another person"
		}
	}
	return "Allowed for one run: " + a.Tool
}
