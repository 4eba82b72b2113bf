package page_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
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
