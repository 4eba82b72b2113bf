package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// TestACallOfACallerWhoIsGoneGetsNoFurther holds that a tool that goes on
// without an answer does not do so for a caller that may not call any more.
func TestACallOfACallerWhoIsGoneGetsNoFurther(t *testing.T) {
	t.Parallel()
	answered := says(accepts(map[string]any{"n": 1}))
	silent := func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) {
		return nil, errors.New("no answer came")
	}
	denied := func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) {
		return nil, &sallyport.Error{Code: sallyport.CodePermissionDenied, Detail: "what the caller may do has changed"}
	}
	there := register{names: map[string]bool{"tester": true}}
	for _, tt := range []struct {
		name   string
		still  register
		thrown *thrown
		answer func(context.Context, []sallyport.Question) ([]sallyport.Answer, error)
		why    string // empty when the call goes on
	}{
		{"there", there, &thrown{}, answered, ""},
		{"there, without an answer", there, &thrown{}, silent, ""},
		{"revoked", register{}, &thrown{}, answered, "principal tester was revoked"},
		{"revoked, without an answer", register{}, &thrown{}, silent, "principal tester was revoked"},
		{"it is not known", register{err: errors.New("driver")}, &thrown{}, answered, "whether the principal may still call cannot be read"},
		{"stopped", there, &thrown{switches: []string{"principal tester"}}, answered, "principal tester is stopped: maintenance"},
		{"the tool is stopped", there, &thrown{switches: []string{"tool asks"}}, silent, "tool asks is stopped: maintenance"},
		{"what is stopped is not known", there, &thrown{err: errors.New("driver")}, answered, "what is stopped cannot be read"},
		{"the edge says so", there, &thrown{}, denied, "what the caller may do has changed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := &gate{t: t, recorder: &recorder{}}
			switches := &thrown{}
			var err error
			// What runs is reviewed too late for this call: that it ends is the question's doing.
			runs := registry.NewRuns(&registry.RunsOptions{Pause: time.Hour})
			g.Registry, err = registry.New(&sallyport.Backends{}, &registry.Options{Recorder: g.recorder, Standing: &tt.still, Switches: switches, Runs: runs})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := g.Close(context.Background()); err != nil {
					t.Error(err)
				}
				runs.Close()
			})
			went := make(chan bool, 1)
			g.add(sallyport.Tool{Name: "asks", Capabilities: sallyport.Capabilities{Input: persons}, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
				_, _ = c.Input.Ask(ctx, question)
				went <- ctx.Err() == nil
				return sallyport.OK("went on"), ctx.Err()
			}})
			c := g.caller()
			c.Input = &person{answer: func(ctx context.Context, q []sallyport.Question) ([]sallyport.Answer, error) {
				switches.throw(tt.thrown.err, tt.thrown.switches...)
				return tt.answer(ctx, q)
			}}
			res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
			if on := <-went; on != (tt.why == "") || res.OK != on || !on && res.Error != "The call was ended: the caller may not call any more" {
				t.Errorf("the tool went on = %v, Call() = %+v", on, res)
			}
			said := slices.ContainsFunc(g.recorder.last().Decisions, func(d sallyport.Decision) bool {
				return !d.Allowed && d.Step == sallyport.StepVisible && strings.HasPrefix(d.Why, tt.why)
			})
			if said != (tt.why != "") {
				t.Errorf("recorded %+v, want %q among them: %v", g.recorder.last().Decisions, tt.why, tt.why != "")
			}
		})
	}
}

// TestQuestionsThatCleaningEmpties are not put.
func TestQuestionsThatCleaningEmpties(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		q    sallyport.Question
		want string
	}{
		"a secret as name":        {sallyport.Question{Name: "hunter2hunter2", Kind: sallyport.InputPerson, Message: "?"}, "holds what may not leave"},
		"a message of no letters": {sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "\u202e\u200b"}, "nothing to read"},
		"a prompt of no letters":  {sallyport.Question{Name: "q", Kind: sallyport.InputModel, Message: "\u202e"}, "nothing to read"},
	} {
		g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": "hunter2hunter2"}})
		g.add(asks(everyone, tt.q))
		p := &person{answer: says(sallyport.Answer{Action: sallyport.ActionAccept})}
		c := g.caller()
		c.Input = p
		res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
		if res.OK != (tt.want == "") || !strings.Contains(res.Error, tt.want) || p.asked.Load() == 1 != res.OK || strings.Contains(res.Error, "hunter2") {
			t.Errorf("%s: %+v and asked %d times, want %q", name, res, p.asked.Load(), tt.want)
		}
	}
}

// TestFormsThatCannotBePut: one that holds a secret where it must be of use, and
// one that is none.
func TestFormsThatCannotBePut(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","maxLength":14,"default":"hunter2hunter2"}}}`: "its form holds what may not leave",
		`{"type":"object","type":"object"}`: "question q: ",
		`{`:                                 "question q: ",
	} {
		g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": "hunter2hunter2"}})
		g.add(asks(persons, sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "?", Schema: json.RawMessage(schema)}))
		p := &person{answer: says(accepts(nil))}
		c := g.caller()
		c.Input = p
		res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
		if res.OK || !strings.Contains(res.Error, want) || p.asked.Load() != 0 {
			t.Errorf("with %s: %+v, want %q", schema, res, want)
		}
	}
}

// TestADryRunAsksNobody.
func TestADryRunAsksNobody(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(asks(persons, question))
	p := &person{answer: says(accepts(map[string]any{"n": 1}))}
	c := g.caller()
	c.Input, c.DryRun = p, true
	if res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"}); !res.OK || p.asked.Load() != 0 {
		t.Errorf("asked %d times: %+v", p.asked.Load(), res)
	}
}

// TestAnswersAreNotRecorded: the record says who was asked for what, and neither
// the question's text nor the answer.
func TestAnswersAreNotRecorded(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	g.add(sallyport.Tool{Name: "asks", Capabilities: sallyport.Capabilities{Input: persons}, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		_, err := c.Input.Ask(ctx, question)
		return sallyport.OK(""), err
	}})
	c := g.caller()
	c.Input = &person{answer: says(accepts(map[string]any{"n": 1, "s": "the answer"}))}
	if res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"}); !res.OK {
		t.Fatal(res.Error)
	}
	var got []sallyport.Decision
	for _, d := range g.recorder.last().Decisions {
		if d.Capability != "" {
			got = append(got, d)
		}
	}
	want := sallyport.Decision{Step: sallyport.StepAccess, Allowed: true, Capability: "input", Resource: "person", Why: "ask q"}
	if len(got) != 1 || got[0] != want {
		t.Errorf("recorded %+v, want %+v", got, want)
	}
}

// TestManyAskAtOnce from one call, after its end too, and beyond what it may ask.
func TestManyAskAtOnce(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	over := make(chan struct{})
	late := make(chan error, 1)
	g.add(sallyport.Tool{Name: "asks", Timeout: time.Minute, Capabilities: sallyport.Capabilities{Input: persons}, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		errs := make(chan error, 3*sallyport.MaxAsks)
		for range cap(errs) {
			go func() {
				_, err := c.Input.Ask(ctx, question)
				errs <- err
			}()
		}
		refused := 0
		for range cap(errs) {
			if <-errs != nil {
				refused++
			}
		}
		go func() {
			<-over
			_, err := c.Input.Ask(context.Background(), question)
			late <- err
		}()
		if refused != 2*sallyport.MaxAsks {
			return sallyport.Err("too many were refused", ""), nil
		}
		return sallyport.OK(""), nil
	}})
	p := &person{answer: says(accepts(map[string]any{"n": 1}))}
	c := g.caller()
	c.Input = p
	res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
	close(over)
	if err := <-late; !res.OK || err == nil || p.asked.Load() != sallyport.MaxAsks {
		t.Errorf("asked %d times, after the end: %v, %+v", p.asked.Load(), err, res)
	}
}

// TestAFormKeepsItsOrder: a person reads its fields as they were written.
func TestAFormKeepsItsOrder(t *testing.T) {
	t.Parallel()
	const written = `{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`
	var got string
	p := &person{answer: func(_ context.Context, q []sallyport.Question) ([]sallyport.Answer, error) {
		got = string(q[0].Schema)
		return []sallyport.Answer{accepts(nil)}, nil
	}}
	res := inquire(t, nil, p, asks(persons, sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "?", Schema: []byte(written)}))
	if !res.OK || got != written {
		t.Errorf("put %s, want %s: %+v", got, written, res)
	}
}

// hanging is a register that does not answer.
type hanging struct{}

func (hanging) Stands(ctx context.Context, _ string, _ time.Time) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// TestTheClockRunsWhenThereIsAnAnswer: only waiting for it does not count.
func TestTheClockRunsWhenThereIsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gate{t: t, recorder: &recorder{}}
		var err error
		g.Registry, err = registry.New(&sallyport.Backends{}, &registry.Options{Recorder: g.recorder, Standing: hanging{}})
		if err != nil {
			t.Fatal(err)
		}
		tool := asks(persons, question)
		tool.Timeout = time.Second
		g.add(tool)
		c := g.caller()
		c.Input = &person{answer: says(accepts(map[string]any{"n": 1}))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begun := time.Now()
		if res := g.Call(ctx, c, sallyport.Request{Tool: "asks"}); res.OK || time.Since(begun) != time.Second {
			t.Errorf("ended after %s: %+v, want after the tool's second", time.Since(begun), res)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
