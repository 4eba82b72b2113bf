package page_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/page"
)

// TestAYesCountsWhileItsGiverStands takes away, after the first of two yeses, what lets its
// giver decide.
func TestAYesCountsWhileItsGiverStands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token bool // the first yes is that of a principal, else of a person of the page
		end   func(ctx context.Context, s *server) error
		want  sallyport.ApprovalState
	}{
		"nothing":         {true, func(context.Context, *server) error { return nil }, sallyport.ApprovalApproved},
		"revoked":         {true, func(ctx context.Context, s *server) error { return s.rt.Callers.Revoke(ctx, "oncall") }, sallyport.ApprovalPending},
		"rules of it end": {true, func(ctx context.Context, s *server) error { return s.rt.EndRules(ctx, "oncall") }, sallyport.ApprovalPending},
		"another token":   {true, rotateOncall, sallyport.ApprovalPending},
		"may not decide":  {true, takePermission, sallyport.ApprovalPending},
		"stopped, started": {false, func(ctx context.Context, s *server) error {
			return stopAndStart(ctx, s, auth.SwitchPrincipal, "page:ann")
		}, sallyport.ApprovalPending},
		"another stopped": {false, func(ctx context.Context, s *server) error {
			return stopAndStart(ctx, s, auth.SwitchPrincipal, "page:carl")
		}, sallyport.ApprovalApproved},
		"all stopped": {false, func(ctx context.Context, s *server) error {
			return stopAndStart(ctx, s, auth.SwitchEverything, auth.Everything)
		}, sallyport.ApprovalPending},
		"sign-ins end":       {false, func(ctx context.Context, s *server) error { return endSignIns(ctx, s, "ann") }, sallyport.ApprovalPending},
		"all sign-ins end":   {false, func(ctx context.Context, s *server) error { return endSignIns(ctx, s, "") }, sallyport.ApprovalPending},
		"those of other end": {false, func(ctx context.Context, s *server) error { return endSignIns(ctx, s, "carl") }, sallyport.ApprovalApproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, ruled("{by: [page:ann, page:ben, oncall], needed: 2}"))
			id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
			if tt.token {
				s.yesOf(t, s.token(t, "oncall", decides, []string{}), id)
			} else if status, body := s.signIn(t, "ann", false).decideCall(id, "once"); status != http.StatusOK {
				t.Fatalf("the first yes = %d: %.300s", status, body)
			}
			if err := tt.end(context.WithoutCancel(t.Context()), s); err != nil {
				t.Fatal(err)
			}
			if status, body := s.signIn(t, "ben", false).decideCall(id, "once"); status != http.StatusOK || s.stateOf(t, id) != tt.want {
				t.Errorf("the second yes = %d, the call is %s, want %s: %.300s", status, s.stateOf(t, id), tt.want, body)
			}
		})
	}
}

// TestTheRecordSaysWhoReallyDecided: a name that was not verified never stands alone, in the
// record, with the held call, the rule and the exception.
func TestTheRecordSaysWhoReallyDecided(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann, local]}"))
	ctx, as := context.WithoutCancel(t.Context()), approvals.Decider{Name: "ann", Person: "local"}
	const want = "ann (local)"
	for _, answer := range []string{"once", "refuse", "session", "always"} {
		id := s.hold(t, "bob", fmt.Sprintf(`{"path":"%s.txt","content":"x"}`, answer))
		a, err := s.rt.Approvals.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := approvals.ProposeRule(&a, nil)
		if err != nil {
			t.Fatal(err)
		}
		give := func(by approvals.Decider) error {
			switch answer {
			case "session":
				return s.rt.GiveRule(ctx, &a, rule, by, "")
			case "always":
				return s.rt.GiveAlways(ctx, &a, s.rt.ProposeAlways(&a), by, "", 0)
			default:
				return s.rt.RecordDecision(ctx, &a, by, answer == "once", "")
			}
		}
		if own := (approvals.Decider{Name: "bob", Person: "local"}); answer != "refuse" && !errors.Is(give(own), sallyport.ErrApprovalOwn) {
			t.Errorf("%s: the name of who asked approves", answer)
		}
		if err := give(as); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		if a, err = s.rt.Approvals.Get(ctx, id); err != nil || a.DecidedBy != want {
			t.Errorf("%s: decided by %q, %v", answer, a.DecidedBy, err)
		}
		if got := s.decisionsOf(t, id); !strings.HasSuffix(got[len(got)-1], want) {
			t.Errorf("%s: recorded is %q", answer, got)
		}
	}
	rules, err := s.rt.Rules.List(ctx)
	if err != nil || len(rules) != 1 || rules[0].By != want || rules[0].Person != "local" {
		t.Errorf("the rules are %+v, %v", rules, err)
	}
	always, err := s.rt.Rules.Exceptions(ctx)
	if err != nil || len(always) != 1 || always[0].By != want || always[0].Person != "local" {
		t.Errorf("the exceptions are %+v, %v", always, err)
	}
}

// yesOf says yes to a held call at the API.
func (s *server) yesOf(t *testing.T, token, id string) {
	t.Helper()
	_, one := s.ask(t, token, "GET", "/v1/approvals/"+id, "")
	shown, _ := one["shown"].(map[string]any)
	if status, got := s.ask(t, token, "POST", "/v1/approvals/"+id, fmt.Sprintf(`{"answer":"once","shown":%q}`, shown["once"])); status != http.StatusOK {
		t.Fatalf("a yes at the API = %d %v", status, got)
	}
}

func rotateOncall(ctx context.Context, s *server) error {
	_, err := s.rt.Callers.Rotate(ctx, "oncall", time.Time{})
	return err
}

func takePermission(ctx context.Context, s *server) error {
	return s.rt.Access.Principals().Update(ctx, "oncall", func(r *auth.Record) error {
		r.Permissions = nil
		return nil
	})
}

func stopAndStart(ctx context.Context, s *server, kind auth.SwitchKind, name string) error {
	if err := s.rt.Stop(ctx, kind, name, "stolen"); err != nil {
		return err
	}
	return s.rt.Start(ctx, kind, name)
}

func endSignIns(ctx context.Context, s *server, name string) error {
	_, err := page.EndSignIns(ctx, s.rt, name)
	return err
}
