package page_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// twoRoles is a configuration with two roles whose ceilings name one set. Under one of them
// two people decide.
const twoRoles = `version: 2
workspace: .
state: sqlite:.sallyport/state.db
known: {places: {kind: text, list: [ok.txt]}}
personalities:
  default:
    tools: ["@file"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    arguments: {write_file: {path: {known: places, else: hold}}}
    approvals: {wait: 0s}
  pay:
    tools: ["@file"]
    read: ["${workspace}"]
    write: ["${workspace}"]
    arguments: {write_file: {path: {known: places, else: hold}}}
    approvals: {wait: 0s, approvers: {by: [page:ann, page:ben], needed: 2}}
principals:
  bob: {token_sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
`

// callAs calls write_file in a role.
func (s *server) callAs(t testing.TB, role, args string) sallyport.Result {
	t.Helper()
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "bob"}, Personality: role, Session: "s1", Platform: sallyport.PlatformHTTP}
	return s.live.Call(t.Context(), caller, sallyport.Request{Tool: "write_file", Args: []byte(args)})
}

// holdAs makes a call in a role that is held, and returns its held call.
func (s *server) holdAs(t testing.TB, role, args string) *sallyport.Approval {
	t.Helper()
	res := s.callAs(t, role, args)
	a, err := s.rt.Approvals.Get(t.Context(), res.ApprovalID)
	if err != nil {
		t.Fatalf("%v: %+v", err, res)
	}
	return &a
}

// TestWithoutTheRoleNoYesCounts takes the role of a held call out of the configuration, and
// with it the rule that says who may decide.
func TestWithoutTheRoleNoYesCounts(t *testing.T) {
	t.Parallel()
	s := serve(t, twoRoles)
	const args = `{"path":"evil.txt","content":"x"}`
	a := s.holdAs(t, "pay", args)
	without := twoRoles[:strings.Index(twoRoles, "  pay:")] + twoRoles[strings.Index(twoRoles, "principals:"):]
	s.changeConfiguration(t, without)
	eve := s.signIn(t, "eve", false)
	for _, answer := range []string{"once", "session", "always"} {
		if status, body := eve.decideCall(a.ID, answer); status != http.StatusConflict || !strings.Contains(body, "does not have the role") {
			t.Errorf("%s = %d: %.300s", answer, status, body)
		}
	}
	ctx, by := t.Context(), approvals.DeciderNamed("page:eve")
	if err := s.rt.RecordDecision(ctx, a, by, true, ""); !errors.Is(err, approvals.ErrNoRole) {
		t.Errorf("a yes for one run: %v", err)
	}
	if err := s.rt.GiveAlways(ctx, a, s.rt.ProposeAlways(a), by, "", 0); !errors.Is(err, approvals.ErrNoRole) {
		t.Errorf("a yes for always: %v", err)
	}
	if err := s.rt.ApprovalDesk().Decide(ctx, a.ID, "client:bob", true, ""); !errors.Is(err, approvals.ErrNoRole) {
		t.Errorf("the person behind a client: %v", err)
	}
	if state := s.stateOf(t, a.ID); state != sallyport.ApprovalPending {
		t.Errorf("the call is %s", state)
	}
	s.changeConfiguration(t, twoRoles)
	if res := s.callAs(t, "pay", args); res.OK {
		t.Errorf("the call ran: %+v", res)
	}
	s.changeConfiguration(t, without)
	if status, body := eve.decideCall(a.ID, "refuse"); status != http.StatusOK || s.stateOf(t, a.ID) != sallyport.ApprovalDenied {
		t.Errorf("a no = %d, the call is %s: %.300s", status, s.stateOf(t, a.ID), body)
	}
}

// TestAMemberOpensNoOtherRole lets a value join a set that a role, a tool or a server of
// other approvers uses, too.
func TestAMemberOpensNoOtherRole(t *testing.T) {
	t.Parallel()
	const own = `approvals: {wait: 0s, approvers: {by: [page:ann, page:ben], needed: 2}}`
	for name, tt := range map[string]struct {
		ceilings, approvers string
		joins               bool
	}{
		"two people elsewhere":   {`{write_file: {path: {known: places, else: hold}}}`, `{by: [page:ann, page:ben], needed: 2}`, false},
		"another person":         {`{write_file: {path: {known: places, else: hold}}}`, `{by: [page:ann]}`, false},
		"for the tool alone":     {`{write_file: {path: {known: places, else: hold}}}`, `{tools: {write_file: {by: [page:ann]}}}`, false},
		"for a tool of a label":  {`{"@file": {path: {known: places, else: hold}}}`, `{tools: {patch_file: {by: [page:ann]}}}`, false},
		"for a label":            {`{write_file: {path: {known: places, else: hold}}}`, `{tools: {"@file": {by: [page:ann]}}}`, false},
		"for another label":      {`{write_file: {path: {known: places, else: hold}}}`, `{tools: {"@todo": {by: [page:ann]}}}`, true},
		"for all tools":          {`{"@file": {path: {known: places, else: hold}}}`, `{tools: {"*": {by: [page:ann]}}}`, false},
		"for another tool":       {`{write_file: {path: {known: places, else: hold}}}`, `{tools: {patch_file: {by: [page:ann]}}}`, true},
		"the same person":        {`{write_file: {path: {known: places, else: hold}}}`, `{by: [page:eve]}`, true},
		"a role without the set": {`{}`, `{by: [page:ann, page:ben], needed: 2}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := strings.Index(twoRoles, "  pay:")
			text := strings.Replace(twoRoles[at:], `{write_file: {path: {known: places, else: hold}}}`, tt.ceilings, 1)
			s := serve(t, twoRoles[:at]+strings.Replace(text, own, "approvals: {wait: 0s, approvers: "+tt.approvers+"}", 1))
			a := s.holdAs(t, "default", `{"path":"evil.txt","content":"x"}`)
			status, body := s.signIn(t, "eve", false).decideCall(a.ID, "always")
			if !tt.joins && (status != http.StatusConflict || !strings.Contains(body, "personalities.pay.arguments") || s.stateOf(t, a.ID) != sallyport.ApprovalPending) {
				t.Errorf("always = %d, the call is %s: %.300s", status, s.stateOf(t, a.ID), body)
			}
			if tt.joins && status != http.StatusOK {
				t.Errorf("always = %d: %.300s", status, body)
			}
			always, err := s.rt.ListAlways(t.Context())
			if got := len(always) > 0; err != nil || got != tt.joins {
				t.Errorf("given are %v, %v, want that the value joins: %v", always, err, tt.joins)
			}
			if got := fmt.Sprint(s.decisionsOf(t, a.ID)); strings.Contains(got, "refused") == tt.joins {
				t.Errorf("recorded is %s", got)
			}
		})
	}
}
