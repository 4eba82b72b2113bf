package approvals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
)

// alike returns a pending call of one shape.
func alike(id string) sallyport.Approval {
	return sallyport.Approval{
		ID: id, State: sallyport.ApprovalPending, Tool: "pay", Principal: "ann", Personality: "banker", Session: "s", Args: fmt.Sprintf(`{"to":%q,"n":1}`, id),
		Shape: &sallyport.ApprovalShape{Asked: "asked", Touches: "touches", Args: map[string]string{"to": id, "n": "1"}},
	}
}

// TestOnlyCallsThatDifferInValuesAloneAreOneQuestion.
func TestOnlyCallsThatDifferInValuesAloneAreOneQuestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit func(a *sallyport.Approval)
		one  bool
	}{
		"the same shape":        {func(*sallyport.Approval) {}, true},
		"another reason text":   {func(a *sallyport.Approval) { a.Why = "argument /to came from elsewhere" }, true},
		"another tool":          {func(a *sallyport.Approval) { a.Tool = "other" }, false},
		"another principal":     {func(a *sallyport.Approval) { a.Principal = "bob" }, false},
		"another role":          {func(a *sallyport.Approval) { a.Personality = "other" }, false},
		"another session":       {func(a *sallyport.Approval) { a.Session = "other" }, false},
		"another way of asking": {func(a *sallyport.Approval) { a.Shape.Asked = "other" }, false},
		"another grant":         {func(a *sallyport.Approval) { a.Shape.Touches = "other" }, false},
		"another target":        {func(a *sallyport.Approval) { a.Targets = []string{"db: other"} }, false},
		"one argument more":     {func(a *sallyport.Approval) { a.Shape.Args["more"] = "2" }, false},
		"one argument less":     {func(a *sallyport.Approval) { delete(a.Shape.Args, "n") }, false},
		"no shape":              {func(a *sallyport.Approval) { a.Shape = nil }, false},
		"decided":               {func(a *sallyport.Approval) { a.State = sallyport.ApprovalApproved }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := alike("a"), alike("b")
			c.edit(&b)
			if got := approvals.JoinBatches([]sallyport.Approval{a, b}); (len(got) == 1) != c.one {
				t.Errorf("JoinBatches() = %d batches, want one: %v", len(got), c.one)
			}
		})
	}
}

func TestABatchIsBounded(t *testing.T) {
	t.Parallel()
	var list []sallyport.Approval
	for i := range 2*approvals.MaxBatch + 1 {
		list = append(list, alike(fmt.Sprint(i)))
	}
	var sizes []int
	for _, batch := range approvals.JoinBatches(list) {
		sizes = append(sizes, len(batch))
	}
	if !slices.Equal(sizes, []int{approvals.MaxBatch, approvals.MaxBatch, 1}) {
		t.Errorf("the batches have %v calls", sizes)
	}
}

func TestArgumentsOfABatchAreSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args      []string
		same, own string
	}{
		{[]string{`{"n":1,"to":"<a>"}`, `{"n":1,"to":"b"}`}, `{"n":1}`, `{"to":"<a>"} {"to":"b"}`},
		{[]string{`{"to":"a"}`, `{"to":"b"}`}, "", `{"to":"a"} {"to":"b"}`},
		{[]string{`{"n":1,"to":"a"}`}, "", `{"n":1,"to":"a"}`},
		{[]string{`{"n":1,"to":"a"}`, `{"n":1,"to":"b [cut`}, "", `{"n":1,"to":"a"} {"n":1,"to":"b [cut`},
		{[]string{`null`, `{"n":1}`}, "", `null {"n":1}`},
	} {
		var batch []sallyport.Approval
		for _, args := range c.args {
			batch = append(batch, sallyport.Approval{Args: args})
		}
		if same, own := approvals.SplitArguments(batch); same != c.same || strings.Join(own, " ") != c.own {
			t.Errorf("SplitArguments(%q) = %s, %q, want %s, %s", c.args, same, own, c.same, c.own)
		}
	}
}
