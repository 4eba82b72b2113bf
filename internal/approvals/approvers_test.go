package approvals_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a, start := d.newCall("one", nil), d.clock()
	rules := approvals.Approvers{By: []string{"page:ann", "local"}, After: 10 * time.Minute, To: []string{"page:boss"}}
	for _, tt := range []struct {
		rules  approvals.Approvers
		person string
		after  time.Duration
		want   bool
	}{
		{approvals.Approvers{}, "page:eve", 0, true},
		{rules, "page:ann", 0, true},
		{rules, "local", 0, true},
		{rules, "ann", 0, false},
		{rules, "client:ann", 0, false},
		{rules, "page:Ann", 0, false},
		{rules, "page:eve", time.Hour, false},
		{rules, "", time.Hour, false},
		{rules, "page:boss", 10*time.Minute - 1, false},
		{rules, "page:boss", 10 * time.Minute, true},
	} {
		err := tt.rules.CheckPerson(tt.person, a, start.Add(tt.after))
		if (err == nil) != tt.want || err != nil && !errors.Is(err, approvals.ErrNotApprover) {
			t.Errorf("%s after %s: %v, want that the person may: %v", tt.person, tt.after, err, tt.want)
		}
	}
}

func TestNamesOfOnePerson(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"page:ann", "client:ann", true},
		{"page:ann", "page:Ann", true},
		{"ann", "page:ann", true},
		{"client:oidc:ann", "oidc:ann", true},
		{"local", "client:local", true},
		{"page:local", "local", true},
		{"page:ann", "page:anna", false},
		{"ann", "ben", false},
	} {
		if got := approvals.IsSamePerson(tt.a, tt.b); got != tt.want {
			t.Errorf("IsSamePerson(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}

// TestOwnCallsUnderOtherNames: a rule lets no one say yes to what they asked for themselves.
func TestOwnCallsUnderOtherNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	for _, tt := range []struct {
		principal, person string
		want              bool
	}{
		{"ann", "page:ann", false},
		{"ann", "page:Ann", false},
		{"ann", "ANN", false},
		{"oidc:ann", "page:ann", false},
		{"ann", "client:ann", true},
		{"ann", "page:ben", true},
		{"local", "local", true},
		{"local", "client:local", true},
	} {
		a := d.newCall("one", nil)
		a.Principal = tt.principal
		rules := approvals.Approvers{By: []string{tt.person}}
		if err := rules.CheckYes(tt.person, a, d.clock()); (err == nil) != tt.want || err != nil && !errors.Is(err, sallyport.ErrApprovalOwn) {
			t.Errorf("%s about a call of %s: %v, want %v", tt.person, tt.principal, err, tt.want)
		}
		if err := rules.CheckDecision(tt.person, a, false, d.clock()); err != nil {
			t.Errorf("%s refuses a call of %s: %v", tt.person, tt.principal, err)
		}
	}
}

// TestARuleClosesOnlyWhatItsGiverMayDecide: another held call that it covers stays open where
// who gave the rule may not decide about it.
func TestARuleClosesOnlyWhatItsGiverMayDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t, func(_ *desk, o *approvals.RulesOptions) {
		o.Counts = func(a *sallyport.Approval, person string) bool { return a.ID != "foreign" && person == "boss" }
	})
	d.hold(d.newCall("foreign", nil))
	d.hold(d.newCall("own", nil))
	d.give(d.newCall("rule", nil))
	d.wantState("own", sallyport.ApprovalUsed)
	d.wantState("foreign", sallyport.ApprovalPending)
}

// TestWhoDecidesAfterATimeGivesOneRun: no yes for more than one run, once the time has come.
func TestWhoDecidesAfterATimeGivesOneRun(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a, later := d.newCall("one", nil), d.clock().Add(time.Hour)
	rules := approvals.Approvers{By: []string{"page:ann"}, After: time.Minute, To: []string{"page:boss"}}
	for person, want := range map[string]bool{"page:ann": true, "page:boss": false, "page:eve": false} {
		if err := rules.CheckWider(person, a, later); (err == nil) != want || rules.MayAlone(person) != want {
			t.Errorf("%s: %v, alone: %v, want %v", person, err, rules.MayAlone(person), want)
		}
	}
	if err := rules.CheckYes("page:boss", a, later); err != nil {
		t.Errorf("one run: %v", err)
	}
}

// TestNoYesCountsWithoutTheRole: where the configuration does not have the role, no rule is
// known, and a no alone is taken.
func TestNoYesCountsWithoutTheRole(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a, now := d.newCall("one", nil), d.clock()
	rules := approvals.Approvers{NoRole: true}
	if err := rules.CheckDecision("page:ann", a, true, now); !errors.Is(err, approvals.ErrNoRole) {
		t.Errorf("a yes: %v", err)
	}
	if err := rules.CheckDecision("page:ann", a, false, now); err != nil {
		t.Errorf("a no: %v", err)
	}
	yeses := []approvals.Yes{approvals.NewYes(a, approvals.DeciderNamed("page:ann"), "", now)}
	if got := rules.CountYeses(yeses, a, now, func(string) bool { return true }); len(got) > 0 || rules.MayAlone("page:ann") {
		t.Errorf("%v count, and what was given for more than one run: %v", got, rules.MayAlone("page:ann"))
	}
}

// TestWhichYesesCount takes each reason away that a yes counts.
func TestWhichYesesCount(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	a, now := d.newCall("one", nil), d.clock()
	yes := func(person string) approvals.Yes {
		return approvals.NewYes(a, approvals.DeciderNamed(person), "", now)
	}
	all := []approvals.Yes{yes("page:ann"), yes("client:ann"), yes("page:ben"), yes("page:carl"), yes("page:boss")}
	foreign := *a
	foreign.ID, foreign.Digest = "two", "two"
	changed := *a
	changed.Digest = "another"
	rules := approvals.Approvers{By: []string{"page:ann", "client:ann", "page:ben"}, Needed: 2, After: time.Minute, To: []string{"page:boss"}}
	for name, tt := range map[string]struct {
		about *sallyport.Approval
		at    time.Time
		want  string
	}{
		"a person counts once":      {a, now, "[page:ann]"},
		"whom time lets decide":     {a, now.Add(time.Minute), "[page:ann page:boss]"},
		"another call":              {&foreign, now, "[]"},
		"another digest than shown": {&changed, now, "[]"},
	} {
		may := func(person string) bool { return person != "page:ben" } // who was stopped
		people := []string{}
		for _, y := range rules.CountYeses(all, tt.about, tt.at, may) {
			people = append(people, y.Person)
		}
		if got := fmt.Sprint(people); got != tt.want {
			t.Errorf("%s: %s count, want %s", name, got, tt.want)
		}
	}
}

// TestYesesAtOnceAreAllKept stores yeses of several people about several calls at once, and
// drops those of calls that are over.
func TestYesesAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	var all sync.WaitGroup
	last := make([]int, 5) // how often one of them saw both yeses about a call
	var mu sync.Mutex
	for call := range last {
		a := d.newCall(fmt.Sprint("call", call), nil)
		for _, person := range []string{"page:ann", "page:ben"} {
			all.Go(func() {
				got, err := approvals.AddYes(t.Context(), d.settings, d.held, approvals.NewYes(a, approvals.DeciderNamed(person), "", d.clock()))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if len(got) == 2 {
					last[call]++
				}
			})
		}
	}
	all.Wait()
	for call, n := range last {
		if n != 1 {
			t.Errorf("call %d: %d people saw both yeses, want the last one alone", call, n)
		}
	}
	again := approvals.NewYes(d.newCall("call0", nil), approvals.DeciderNamed("page:ann"), "once more", d.clock())
	if got, err := approvals.AddYes(t.Context(), d.settings, d.held, again); err != nil || len(got) != 2 || slices.Contains(got, again) {
		t.Errorf("the same yes again: %v, %v, want the two that were there", got, err)
	}
	d.wait(2 * time.Hour)
	if _, err := approvals.AddYes(t.Context(), d.settings, d.held, approvals.NewYes(d.newCall("later", nil), approvals.DeciderNamed("page:ann"), "", d.clock())); err != nil {
		t.Fatal(err)
	}
	if kept, err := approvals.ReadYeses(t.Context(), d.settings); err != nil || len(kept) != 1 {
		t.Errorf("kept are %v, %v, want those of the call that is not over", kept, err)
	}
}

// TestYesesAreBounded, and those that cannot be read count for nothing.
func TestYesesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	var err error
	stored := 0
	for ; err == nil && stored < 1000; stored++ {
		a := d.newCall(fmt.Sprint("call", stored), nil)
		a.Principal = fmt.Sprint("agent", stored%10) // each has a bound of its own
		d.hold(a)
		_, err = approvals.AddYes(t.Context(), d.settings, d.held, approvals.NewYes(a, approvals.DeciderNamed("page:ann"), "", d.clock()))
	}
	if stored != 501 || err == nil {
		t.Errorf("%d yeses are stored, %v, want that one more than 500 is refused", stored, err)
	}
	for n := range 3 { // those to calls that are not held any more make room
		if err := d.held.Decide(t.Context(), fmt.Sprint("call", n), "boss", n == 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := approvals.AddYes(t.Context(), d.settings, d.held, approvals.NewYes(d.hold(d.newCall("more", nil)), approvals.DeciderNamed("page:ann"), "", d.clock())); err != nil {
		t.Error(err)
	}
	if kept, err := approvals.ReadYeses(t.Context(), d.settings); err != nil || len(kept) != 498 || len(kept["call3"]) != 1 {
		t.Errorf("%d calls have yeses, %v, want the 497 that are held and the new one", len(kept), err)
	}
	value, _, err := d.settings.Get(t.Context(), "approvals.yeses")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.settings.Swap(t.Context(), "approvals.yeses", value, `[{"id":"call0","unknown":1}]`); err != nil {
		t.Fatal(err)
	}
	if kept, err := approvals.ReadYeses(t.Context(), d.settings); err != nil || len(kept) != 0 {
		t.Errorf("what another program wrote counts as %v, %v", kept, err)
	}
}

// TestWhoMayNotDecideAloneLetsNothingRun: a rule and an exception count only while the
// person who gave them may decide alone.
func TestWhoMayNotDecideAloneLetsNothingRun(t *testing.T) {
	t.Parallel()
	may := map[string]bool{"boss": true}
	d := newDesk(t, func(_ *desk, o *approvals.RulesOptions) {
		o.Counts = func(_ *sallyport.Approval, person string) bool { return may[person] }
	})
	rule := d.newCall("rule", nil)
	d.give(rule)
	exception := d.newCall("exception", map[string]string{"to": "else"})
	exception.Shape.Session = ""
	d.hold(exception)
	as := approvals.Decider{Name: "anna", Person: "boss"}
	if err := d.GiveException(t.Context(), *approvals.ProposeException(exception), as, "", 0); err != nil {
		t.Fatal(err)
	}
	for _, allowed := range []bool{true, false, true} {
		may["boss"] = allowed
		for _, a := range []*sallyport.Approval{rule, exception} {
			said, ok, err := d.Use(t.Context(), a)
			if ok != allowed || err != nil {
				t.Errorf("%s: %q, %v, %v, want that it counts: %v", a.ID, said, ok, err, allowed)
			}
		}
	}
}
