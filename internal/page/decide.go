package page

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"

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

// errStale: what is to be decided is not what the person was shown.
var errStale = errors.New("what it would allow has changed since it was shown: look at it again")

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
	switch d.Answer {
	case answerRefuse:
		return "Refused: " + a.Tool, s.rt.RecordDecision(ctx, &a, d.by, false, d.Reason)
	case answerOnce:
		if !sameDigest(d.Shown, a.Digest) {
			return "", errStale
		}
		return "Allowed for one run: " + a.Tool, s.rt.RecordDecision(ctx, &a, d.by, true, d.Reason)
	case answerSession:
		rule, err := approvals.ProposeRule(&a, nil)
		if err != nil {
			return "", err
		}
		if !sameDigest(d.Shown, rule.Digest()) {
			return "", errStale
		}
		return "Allowed for the session: " + a.Tool, s.rt.GiveRule(ctx, &a, rule, d.by, d.Reason)
	case answerAlways:
		always := s.rt.ProposeAlways(&a)
		if !sameDigest(d.Shown, digestOf(always)) {
			return "", errStale
		}
		return "Allowed for always: " + a.Tool, s.rt.GiveAlways(ctx, &a, always, d.by, d.Reason, 0)
	default:
		return "", errors.New("expected the answer once, session, always or refuse")
	}
}

// sameDigest reports whether a person was shown what a digest is of.
func sameDigest(shown, is string) bool {
	return is != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(is)) == 1
}
