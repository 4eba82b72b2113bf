package report_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/report"
)

// TestTheQuestionAboutSeveralCallsShowsEach, with what is new about it.
func TestTheQuestionAboutSeveralCallsShowsEach(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	now := time.Now()
	var batch []sallyport.Approval
	for _, id := range []string{"one", "two"} {
		batch = append(batch, sallyport.Approval{
			ID: id, State: sallyport.ApprovalPending, Tool: "pay", Principal: "ann", Personality: "banker", Args: `{"n":1,"to":"` + id + `"}`, Why: "it is not in payees",
			Created: now, Expires: now.Add(time.Hour),
		})
	}
	batch[1].Hidden = 2
	describe := func(a *sallyport.Approval) app.Question {
		return app.Question{News: []string{"value of " + a.ID + "\x1b"}}
	}
	report.PrintHeld(&report.Printer{W: &out}, batch, describe, now, true)
	want := []string{
		"2 calls  pending  pay  ann/banker  0s ago, expires in 1h0m0s", `    all: {"n":1}`,
		`    one  {"to":"one"}`, "        why: it is not in payees",
		`    two  {"to":"two"}`, "        the arguments hold 2 control or invisible characters that are not shown",
		`    new: one: value of one`, `    new: two: value of two`,
		"    run each of these 2 once? y/n for all of them and for no other, s leaves them",
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	for i, line := range want {
		if i >= len(got) || !strings.HasPrefix(got[i], line) || strings.Contains(got[i], "\x1b") {
			t.Fatalf("line %d of\n%s\nis not %q", i, out.String(), line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d:\n%s", len(got), len(want), out.String())
	}
}

// TestOneAnswerIsForArgumentsThatAreShownWhole, of one call and of several.
func TestOneAnswerIsForArgumentsThatAreShownWhole(t *testing.T) {
	t.Parallel()
	now, pad := time.Now(), strings.Repeat("x", 5000)
	var batch []sallyport.Approval
	for _, id := range []string{"one", "two"} {
		batch = append(batch, sallyport.Approval{
			ID: id, State: sallyport.ApprovalPending, Tool: "pay", Args: `{"all":"` + pad + `last","note":"` + pad + `","to":"` + id + `"}`, Created: now, Expires: now.Add(time.Hour),
		})
	}
	for n := range batch {
		var out strings.Builder
		report.PrintHeld(&report.Printer{W: &out}, batch[:n+1], func(*sallyport.Approval) app.Question { return app.Question{} }, now, true)
		for i := range n + 1 {
			if !strings.Contains(out.String(), `"to":"`+batch[i].ID+`"`) || !strings.Contains(out.String(), `last"`) {
				t.Errorf("of %d calls, call %d is cut:\n%s", n+1, i+1, out.String())
			}
		}
	}
}
