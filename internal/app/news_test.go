package app

import (
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/store/memory"
)

// ranWith returns the record of a call that was let run with arguments.
func ranWith(id, args string) *audit.Event {
	return &audit.Event{CallID: id, Kind: audit.KindOutcome, OK: true, Args: output.Plain().Text(args)}
}

func TestWhatIsNewIsComparedByItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, past, args string
		hidden           int
		want             string
	}{
		{"the same", `{"to":"ann","n":1}`, `{"n":1,"to":"ann"}`, 0, ""},
		{"another value", `{"to":"ann"}`, `{"to":"eve"}`, 0, `argument /to: none of the last 1 call that ran had "eve"`},
		{"a value of another argument", `{"to":"ann","cc":"eve"}`, `{"to":"eve"}`, 0, `argument /to: none of the last 1 call that ran had "eve"`},
		{"an item of a list, in any place", `{"to":["ann","bob"]}`, `{"to":["bob","eve"]}`, 0, `argument /to/*: none of the last 1 call that ran had "eve"`},
		{"a destination below", `{"party":{"mail":"a@b.c"}}`, `{"party":{"mail":"e@b.c"}}`, 0, `destination /party/mail: none of the last 1 call that ran had "e@b.c"`},
		{"a long text", `{"text":"a"}`, `{"text":"` + strings.Repeat("x", 300) + `"}`, 0, ""},
		{"several lines", `{"text":"a"}`, `{"text":"b\nc"}`, 0, ""},
		{"hidden characters", `{"to":"ann"}`, `{"to":"eve"}`, 1, ""},
		{"arguments that are cut", `{"to":"ann"}`, `{"to":"eve`, 0, ""},
		{"a record that is cut", `{"to":"an [cut -- 9 chars total]`, `{"to":"eve"}`, 0, ""},
		{"more than are shown", `{}`, `{"a":[1,2,3,4,5,6,7,8,9,10]}`, 0, "and 2 values more"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := pastCalls{}
			p.addCall(ranWith("1", c.past))
			p.addCall(ranWith("1", c.past)) // its outcome, after its intent
			news := p.compareValues(&sallyport.Approval{Args: c.args, Hidden: c.hidden}, []string{"/party"})
			got := strings.Join(news, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) || len(news) > maxNews+1 {
				t.Errorf("compare() = %q, want %q", got, c.want)
			}
		})
	}
}

func TestOnlyWhatNothingRefusedCountsAsRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		e    audit.Event
		want bool
	}{
		"a result":  {audit.Event{Kind: audit.KindOutcome, OK: true}, true},
		"a failure": {audit.Event{Kind: audit.KindOutcome}, true},
		"an intent": {audit.Event{Kind: audit.KindIntent}, true},
		"a refusal": {audit.Event{Kind: audit.KindOutcome, Stage: sallyport.StepApprove}, false},
		"a dry run": {audit.Event{Kind: audit.KindOutcome, OK: true, DryRun: true}, false},
		"a change":  {audit.Event{Kind: audit.KindChange, OK: true}, false},
	} {
		if got := wasLetRun(&c.e); got != c.want {
			t.Errorf("wasLetRun(%s) = %v, want %v", name, got, c.want)
		}
	}
}

func TestDestinationsOfAToolAreThoseOfItsServer(t *testing.T) {
	t.Parallel()
	rt := newRuntime(nil, &config.Config{Servers: []config.Part{
		{ID: "bank", JSON: []byte(`{"url":"http://127.0.0.1:1/","effects":{"pay":{"does":["outward"],"destinations":{"party.mail":"mail"}},"other":{"destinations":{"to":"mail"}},"pay.all":{"destinations":{"to":"account"}},"mine":{"destinations":{"to":"mail"}}}}`)},
	}, Actions: []config.Part{{ID: "act", JSON: []byte(`{"id":"act","destinations":{"to":"mail"}}`)}}, Personalities: map[string]*sallyport.Personality{"ops": {
		Destinations: map[string]map[string]sallyport.ValueKind{"mcp__bank__mine": {"who": "mail"}, "spend": {"payee.id": "account"}},
	}}})
	for tool, want := range map[string]string{
		"mcp__bank__pay": "/party/mail", "mcp__bank__pay_all": "/to", "mcp__bank__mine": "/who", "spend": "/payee/id", "act": "/to", "email-send": "/to", "read_file": "", "mcp__bank__none": "", "pay": "",
	} {
		if got := strings.Join(rt.destinationsOf("ops", tool), ","); got != want {
			t.Errorf("destinationsOf(%s) = %q, want %q", tool, got, want)
		}
	}
}

// TestAQuestionSaysWhyAYesIsNotOffered, and a call that is over is no question.
func TestAQuestionSaysWhyAYesIsNotOffered(t *testing.T) {
	t.Parallel()
	state, err := memory.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = state.Close() }()
	rt := newRuntime(nil, &config.Config{})
	rt.State = state
	a := &sallyport.Approval{ID: "a", Tool: "pay", Principal: "ann", Args: "{}", State: sallyport.ApprovalPending, Expires: time.Now().Add(time.Hour)}
	if q := rt.DescribeQuestion(t.Context(), a); q.Allows == nil || q.Allows.Session.Rule != nil || !strings.Contains(q.Allows.Session.NotOffered, "cannot be allowed for its session") || q.Allows.Once.Runs != 1 || q.Allows.Always.Exception == nil {
		t.Errorf("DescribeQuestion() = %+v, want what a yes would allow", q)
	}
	a.State = sallyport.ApprovalDenied
	if q := rt.DescribeQuestion(t.Context(), a); q.Allows != nil || q.News != nil {
		t.Errorf("DescribeQuestion() = %+v about a call that was denied", q)
	}
}
