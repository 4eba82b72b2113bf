package approvals_test

import (
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/approvals"
)

func TestWhatARecordMayHold(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", approvals.MaxUsedID)
	for id, want := range map[string]bool{
		"01hf7yat31m4z2q8-_.Z": true, long: true, long + "a": false, "": false, `a"`: false, "a\\": false, "ä": false, "a b": false, "a\x00": false,
	} {
		if got := approvals.IsRecordable(id); got != want {
			t.Errorf("IsRecordable(%q) = %t", id, got)
		}
	}
	run := approvals.RuleRun{Rule: "a.1", Run: 1}
	for _, c := range []struct {
		used approvals.Used
		want bool
	}{
		{approvals.Used{Approvals: []string{"a"}}, true},
		{approvals.Used{Runs: []approvals.RuleRun{run}}, true},
		{approvals.Used{Approvals: []string{"a", "b", "c"}, Runs: []approvals.RuleRun{run}}, true},
		{approvals.Used{}, false},
		{approvals.Used{Approvals: []string{"a", ""}}, false},
		{approvals.Used{Approvals: []string{"a", "b", "c"}, Runs: []approvals.RuleRun{run, run}}, false},
		{approvals.Used{Runs: []approvals.RuleRun{{Rule: "a", Run: 0}}}, false},
		{approvals.Used{Runs: []approvals.RuleRun{{Rule: "a", Run: approvals.RuleRuns + 1}}}, false},
		{approvals.Used{Runs: []approvals.RuleRun{{Rule: "", Run: 1}}}, false},
	} {
		if c.used.IsBounded() != c.want {
			t.Errorf("IsBounded(%+v) = %t", c.used, !c.want)
		}
	}
}

func TestWhichRunsAreMissing(t *testing.T) {
	t.Parallel()
	const rules = `[{"id":"a","given":"1970-01-01T00:00:00.000000007Z"}]`
	run := approvals.RuleRun{Rule: "a.7", Run: 3}
	for _, c := range []struct {
		run         approvals.RuleRun
		rules, runs string
		want        bool
	}{
		{run, rules, "", true},
		{run, rules, "2", true},
		{run, rules, "3", false},
		{run, rules, "4", false},
		{run, rules, "many", false},
		{run, "", "", false},
		{run, "[]", "2", false},
		{run, "{", "2", false},
		{approvals.RuleRun{Rule: "a.8", Run: 3}, rules, "2", false},
		{approvals.RuleRun{Rule: "b.7", Run: 3}, rules, "", false},
	} {
		if got := c.run.IsMissing(c.rules, c.runs, c.runs != ""); got != c.want {
			t.Errorf("%+v: IsMissing(%s, %q) = %t", c.run, c.rules, c.runs, got)
		}
	}
}
