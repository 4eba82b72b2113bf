package page_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/approvals"
)

// ruled returns the configuration with who may decide.
func ruled(approvers string) string {
	return strings.Replace(configuration, "wait: 0s}", "wait: 0s, approvers: "+approvers+"}", 1)
}

// decisionsOf returns what was recorded about a held call: the action, who, and whether it
// was refused.
func (s *server) decisionsOf(t *testing.T, id string) (list []string) {
	t.Helper()
	for e, err := range audit.Events(t.Context(), s.rt.State, audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Change != nil && string(e.Change.Target) == id {
			word := string(e.Change.Action) + " " + e.Principal
			if e.Error != "" {
				word += " refused"
			}
			list = append(list, word)
		}
	}
	return list
}

func (s *server) stateOf(t *testing.T, id string) sallyport.ApprovalState {
	t.Helper()
	a, err := s.rt.Approvals.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a.State
}

// TestWhoIsNoApproverDecidesNothing: a person at the page and a program that could decide
// without the rule see the call, and each of their answers is refused and recorded.
func TestWhoIsNoApproverDecidesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann]}"))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	eve := s.signIn(t, "eve", false)
	if _, body := eve.get("/"); !strings.Contains(body, "You cannot decide about this call") || strings.Contains(body, `name="shown-once"`) {
		t.Errorf("the page of who may not decide:\n%s", body)
	}
	form := s.signIn(t, "ann", false).form(id)
	csrf := csrfAt(t, eve)
	var want []string
	for _, answer := range []string{"once", "session", "always", "refuse"} {
		forged := make(map[string][]string)
		for key, value := range form {
			forged[key] = value
		}
		forged["csrf"], forged["answer"] = []string{csrf}, []string{answer}
		if status, body := eve.post("/page/decide", forged); status != 409 || !strings.Contains(body, "not an approver") {
			t.Errorf("%s at the page = %d: %.300s", answer, status, body)
		}
	}
	token := s.token(t, "oncall", decides, []string{})
	_, one := s.ask(t, token, "GET", "/v1/approvals/"+id, "")
	if by := fmt.Sprint(one["approvers"]); !strings.Contains(by, "page:ann") {
		t.Errorf("a program that may not decide sees %v", one)
	}
	shown, _ := one["shown"].(map[string]any)
	for _, answer := range []string{"once", "session", "always", "refuse"} {
		digest, _ := shown[answer].(string)
		status, got := s.ask(t, token, "POST", "/v1/approvals/"+id, fmt.Sprintf(`{"answer":%q,"shown":%q}`, answer, digest))
		if status != http.StatusForbidden || got["code"] != "permission_denied" || !strings.Contains(fmt.Sprint(got["error"]), "not an approver") {
			t.Errorf("%s at the API = %d %v, want 403 with the reason", answer, status, got)
		}
	}
	for _, who := range []string{"page:eve", "oncall"} {
		for _, action := range []string{"approval.approve", "approval.approve", "approval.approve", "approval.deny"} {
			want = append(want, action+" "+who+" refused")
		}
	}
	if got := s.decisionsOf(t, id); !slices.Equal(got, want) {
		t.Errorf("recorded is %q, want %q", got, want)
	}
	if state := s.stateOf(t, id); state != sallyport.ApprovalPending {
		t.Errorf("the call is %s", state)
	}
	if status, body := s.signIn(t, "ann", false).decideCall(id, "once"); status != 200 || s.stateOf(t, id) != sallyport.ApprovalApproved {
		t.Errorf("an approver = %d: %.300s", status, body)
	}
}

// csrfAt returns the word that the forms of a signed-in person have.
func csrfAt(t *testing.T, v *visitor) string {
	t.Helper()
	_, body := v.get("/")
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		if m[1] == "csrf" {
			return m[2]
		}
	}
	t.Fatal("the page has no form")
	return ""
}

// TestTwoPeopleSayYes: the first yes lets nothing run, the same person counts once, and each
// yes is a record. A yes for more than one run is refused, and one no ends it.
func TestTwoPeopleSayYes(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann, page:ben, Ann], needed: 2}"))
	const args = `{"path":"a.txt","content":"x"}`
	id := s.hold(t, "bob", args)
	ann, ben, token := s.signIn(t, "ann", false), s.signIn(t, "ben", false), s.token(t, "Ann", decides, []string{})
	for _, answer := range []string{"session", "always"} {
		if status, body := ann.decideCall(id, answer); status != 409 || !strings.Contains(body, "several people decide") {
			t.Errorf("%s = %d: %.300s", answer, status, body)
		}
	}
	if status, body := ann.decideCall(id, "once"); status != 200 || !strings.Contains(body, "1 of 2: page:ann") {
		t.Errorf("the first yes = %d: %s", status, body)
	}
	if res := s.call(t, "bob", "s1", "write_file", args); res.OK || s.stateOf(t, id) != sallyport.ApprovalPending {
		t.Fatalf("one yes let the call run: %+v", res)
	}
	if status, body := ann.decideCall(id, "once"); status != 409 || !strings.Contains(body, "said yes to this call before") {
		t.Errorf("the same person again = %d: %.300s", status, body)
	}
	_, one := s.ask(t, token, "GET", "/v1/approvals/"+id, "")
	if got := fmt.Sprint(one["approvers"]); got != "map[by:[page:ann page:ben Ann] given:[page:ann] needed:2]" {
		t.Errorf("the API shows %s", got)
	}
	shown, _ := one["shown"].(map[string]any)
	if status, got := s.ask(t, token, "POST", "/v1/approvals/"+id, fmt.Sprintf(`{"answer":"once","shown":%q}`, shown["once"])); status != 409 || s.stateOf(t, id) != sallyport.ApprovalPending {
		t.Errorf("the same person elsewhere = %d %v", status, got)
	}
	if status, body := ben.decideCall(id, "once"); status != 200 || !strings.Contains(body, "Allowed for one run") {
		t.Errorf("the second yes = %d: %.300s", status, body)
	}
	if a, _ := s.rt.Approvals.Get(t.Context(), id); a.State != sallyport.ApprovalApproved || a.DecidedBy != "page:ann and page:ben" {
		t.Errorf("the call is %s by %s", a.State, a.DecidedBy)
	}
	if res := s.call(t, "bob", "s1", "write_file", args); !res.OK {
		t.Errorf("two yeses do not let the call run: %+v", res)
	}
	want := []string{
		"approval.approve page:ann refused", "approval.approve page:ann refused", "approval.approve page:ann",
		"approval.approve page:ann refused", "approval.approve Ann refused", "approval.approve page:ben",
	}
	if got := s.decisionsOf(t, id); !slices.Equal(got, want) {
		t.Errorf("recorded is %q, want %q", got, want)
	}

	given := func() int {
		kept, err := approvals.ReadYeses(t.Context(), s.rt.Settings)
		if err != nil {
			t.Fatal(err)
		}
		return len(kept)
	}
	if n := given(); n != 0 {
		t.Errorf("%d calls have yeses once it is decided", n)
	}
	again := s.hold(t, "bob", args)
	if status, _ := ann.decideCall(again, "once"); status != 200 || s.stateOf(t, again) != sallyport.ApprovalPending {
		t.Errorf("a yes to an earlier call counts for a later one: %d", status)
	}
	if status, _ := ben.decideCall(again, "refuse"); status != 200 || s.stateOf(t, again) != sallyport.ApprovalDenied {
		t.Errorf("one no does not end it: %d", status)
	}
	if n := given(); n != 0 {
		t.Errorf("%d calls have yeses after a no", n)
	}
}

// changeConfiguration writes another configuration and waits until it is in force.
func (s *server) changeConfiguration(t *testing.T, text string) {
	t.Helper()
	path, before := filepath.Join(s.rt.Env.Dir, "sallyport.yaml"), s.rt.InForce()
	was, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(was) == text {
		return
	}
	stop := s.rt.FollowConfig(t.Context(), s.live, "default")
	defer stop()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for s.rt.InForce() == before {
		if t.Context().Err() != nil {
			t.Fatal("the change is not in force")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestWhoAskedIsNotWhoDecides: where a rule says who may, no one decides about their own call,
// under whatever name, also not as one of several. The person behind the client is asked.
func TestWhoAskedIsNotWhoDecides(t *testing.T) {
	t.Parallel()
	s := serve(t, strings.Replace(ruled("{by: [page:bob, page:ben, client:bob], needed: 2}"), "bob: {", "bob: {person: true, ", 1))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	bob, ben := s.signIn(t, "bob", false), s.signIn(t, "ben", false)
	if status, body := bob.decideCall(id, "once"); status != http.StatusConflict || !strings.Contains(body, "cannot approve its own call") {
		t.Errorf("who asked says yes at the page = %d: %.300s", status, body)
	}
	if status, _ := ben.decideCall(id, "once"); status != http.StatusOK || s.stateOf(t, id) != sallyport.ApprovalPending {
		t.Errorf("the yes of another person = %d, the call is %s", status, s.stateOf(t, id))
	}
	if err := s.rt.ApprovalDesk().Decide(t.Context(), id, "client:bob", true, ""); err != nil || s.stateOf(t, id) != sallyport.ApprovalApproved {
		t.Errorf("the person behind the client: %v, the call is %s", err, s.stateOf(t, id))
	}
	id = s.hold(t, "bob", `{"path":"b.txt","content":"x"}`)
	if status, _ := bob.decideCall(id, "refuse"); status != http.StatusOK || s.stateOf(t, id) != sallyport.ApprovalDenied {
		t.Errorf("who asked says no = %d, the call is %s", status, s.stateOf(t, id))
	}
}

// TestTheRulesInForceCountTheYeses changes who may decide while one yes is in.
func TestTheRulesInForceCountTheYeses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after string
		stop          bool
		want          sallyport.ApprovalState
	}{
		"nothing changes":          {"{by: [page:ann, page:ben, page:carl], needed: 2}", "{by: [page:ann, page:ben, page:carl], needed: 2}", false, sallyport.ApprovalApproved},
		"the first is no approver": {"{by: [page:ann, page:ben], needed: 2}", "{by: [page:ben, page:carl], needed: 2}", false, sallyport.ApprovalPending},
		"one more is needed":       {"{by: [page:ann, page:ben, page:carl], needed: 2}", "{by: [page:ann, page:ben, page:carl], needed: 3}", false, sallyport.ApprovalPending},
		"the first was stopped":    {"{by: [page:ann, page:ben], needed: 2}", "{by: [page:ann, page:ben], needed: 2}", true, sallyport.ApprovalPending},
		"one is enough":            {"{by: [page:ann, page:ben], needed: 2}", "{needed: 1}", false, sallyport.ApprovalApproved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, ruled(tt.before))
			id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
			ann, ben := s.signIn(t, "ann", false), s.signIn(t, "ben", false)
			if status, body := ann.decideCall(id, "once"); status != 200 {
				t.Fatalf("the first yes = %d: %.300s", status, body)
			}
			if tt.stop {
				if err := s.rt.Switches.Stop(t.Context(), auth.SwitchPrincipal, "page:ann", "left"); err != nil {
					t.Fatal(err)
				}
			}
			s.changeConfiguration(t, ruled(tt.after))
			if status, body := ben.decideCall(id, "once"); status != 200 || s.stateOf(t, id) != tt.want {
				t.Errorf("the second yes = %d, the call is %s, want %s: %.300s", status, s.stateOf(t, id), tt.want, body)
			}
		})
	}
}

// TestOthersDecideAfterATime: before it they may not, and the page says from when on.
func TestOthersDecideAfterATime(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann], escalate: {after: 1s, to: [page:boss]}}"))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	a, err := s.rt.Approvals.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for !a.Created.IsZero() && s.rt.CheckDecider("page:boss", &a) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the time never comes")
		}
	}
	boss := s.signIn(t, "boss", false)
	if _, body := boss.get("/"); !strings.Contains(body, "on also <bdi>page:boss</bdi>") {
		t.Errorf("the page does not say who may decide later:\n%s", body)
	}
	if form := boss.form(id); form.Get("shown-once") == "" || form.Get("shown-session") != "" || form.Get("shown-always") != "" {
		t.Errorf("the page offers more than one run: %v", form)
	}
	for _, answer := range []string{"session", "always"} {
		if status, body := boss.decideCall(id, answer); status != http.StatusConflict || !strings.Contains(body, "may let this call run once") || s.stateOf(t, id) != sallyport.ApprovalPending {
			t.Errorf("%s by who may decide after the time = %d: %.300s", answer, status, body)
		}
	}
	if status, _ := boss.decideCall(id, "once"); status != 200 || s.stateOf(t, id) != sallyport.ApprovalApproved {
		t.Errorf("who may decide after the time = %d, the call is %s", status, s.stateOf(t, id))
	}
	late := serve(t, ruled("{by: [page:ann], escalate: {after: 30m, to: [page:boss]}}"))
	id = late.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	if a, err = late.rt.Approvals.Get(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for _, approve := range []bool{true, false} {
		err := late.rt.RecordDecision(t.Context(), &a, approvals.DeciderNamed("page:boss"), approve, "")
		if err == nil || !strings.Contains(err.Error(), "may decide from") || late.stateOf(t, id) != sallyport.ApprovalPending {
			t.Errorf("before the time, approve %v: %v, the call is %s", approve, err, late.stateOf(t, id))
		}
	}
}

// TestADesksPersonDecidesOnlyByTheRule: the desk of a client refuses, too.
func TestADesksPersonDecidesOnlyByTheRule(t *testing.T) {
	t.Parallel()
	s := serve(t, ruled("{by: [page:ann, client:local], needed: 2}"))
	id := s.hold(t, "bob", `{"path":"a.txt","content":"x"}`)
	desk, ctx := s.rt.ApprovalDesk(), context.WithoutCancel(t.Context())
	if err := desk.Decide(ctx, id, "client:bob", true, ""); err == nil || s.stateOf(t, id) != sallyport.ApprovalPending {
		t.Errorf("the person behind another client decides: %v", err)
	}
	if err := desk.Decide(ctx, id, "client:local", true, ""); err != nil || s.stateOf(t, id) != sallyport.ApprovalPending {
		t.Errorf("one yes of two: %v, the call is %s", err, s.stateOf(t, id))
	}
	if err := desk.Decide(ctx, id, "page:ann", true, ""); err != nil || s.stateOf(t, id) != sallyport.ApprovalApproved {
		t.Errorf("the second yes: %v, the call is %s", err, s.stateOf(t, id))
	}
}

// TestAWiderYesNeedsWhoMayDecideAlone: none is given under a rule that asks for two people or
// for others, and one from before counts no more.
func TestAWiderYesNeedsWhoMayDecideAlone(t *testing.T) {
	t.Parallel()
	s := serve(t, configuration)
	ann := s.signIn(t, "ann", false)
	const forSession, forAlways = `{"path":"a.txt","content":"x"}`, `{"path":"b.txt","content":"x"}`
	if status, body := ann.decideCall(s.hold(t, "bob", forSession), "session"); status != 200 {
		t.Fatalf("for the session = %d: %.300s", status, body)
	}
	if status, body := ann.decideCall(s.hold(t, "bob", forAlways), "always"); status != 200 {
		t.Fatalf("always = %d: %.300s", status, body)
	}
	for _, tt := range []struct {
		approvers string
		runs      bool
	}{{"{by: [page:ann]}", true}, {"{by: [page:ann, page:ben], needed: 2}", false}, {"{by: [page:ben]}", false}, {"{needed: 1}", true}} {
		s.changeConfiguration(t, ruled(tt.approvers))
		for _, args := range []string{forSession, forAlways} {
			if res := s.call(t, "bob", "s1", "write_file", args); res.OK != tt.runs {
				t.Errorf("under %s %s: %+v, want that it runs: %v", tt.approvers, args, res, tt.runs)
			}
		}
		if tt.runs {
			continue
		}
		id := s.hold(t, "bob", `{"path":"c.txt","content":"x"}`)
		a, err := s.rt.Approvals.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		rule, err := approvals.ProposeRule(&a, nil)
		if err != nil {
			t.Fatal(err)
		}
		by := approvals.DeciderNamed("page:ann")
		if err := s.rt.GiveRule(t.Context(), &a, rule, by, ""); err == nil || s.stateOf(t, id) != sallyport.ApprovalPending {
			t.Errorf("under %s a rule is given: %v", tt.approvers, err)
		}
		if err := s.rt.GiveAlways(t.Context(), &a, s.rt.ProposeAlways(&a), by, "", 0); err == nil || s.stateOf(t, id) != sallyport.ApprovalPending {
			t.Errorf("under %s an exception is given: %v", tt.approvers, err)
		}
	}
}
