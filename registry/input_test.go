package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

// person answers questions as a test wants.
type person struct {
	asked  atomic.Int32
	can    func(sallyport.InputKind) bool
	answer func(context.Context, []sallyport.Question) ([]sallyport.Answer, error)
}

func (p *person) Can(k sallyport.InputKind) bool { return p.can == nil || p.can(k) }

func (p *person) Ask(ctx context.Context, q ...sallyport.Question) ([]sallyport.Answer, error) {
	p.asked.Add(1)
	return p.answer(ctx, q)
}

func says(a ...sallyport.Answer) func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) {
	return func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) { return a, nil }
}

func accepts(values map[string]any) sallyport.Answer {
	return sallyport.Answer{Action: sallyport.ActionAccept, Values: values}
}

// asks is a tool that asks what a test wants and answers what came back.
func asks(kinds []sallyport.InputKind, questions ...sallyport.Question) sallyport.Tool {
	return sallyport.Tool{Name: "asks", Capabilities: sallyport.Capabilities{Input: kinds}, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		answers, err := c.Input.Ask(ctx, questions...)
		if err != nil {
			return sallyport.Result{}, err
		}
		text, err := json.Marshal(answers)
		return sallyport.OK(string(text)), err
	}}
}

var (
	persons  = []sallyport.InputKind{sallyport.InputPerson}
	everyone = []sallyport.InputKind{sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders}
	form     = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string","default":"d"}},"required":["n"]}`)
	question = sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "How many?", Schema: form}
)

func inquire(t *testing.T, role *sallyport.Personality, p sallyport.Input, tool sallyport.Tool) sallyport.Result {
	t.Helper()
	g := newGate(t, role)
	g.add(tool)
	c := g.caller()
	c.Input = p
	return g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
}

func TestAToolAsks(t *testing.T) {
	t.Parallel()
	four := says(accepts(map[string]any{"n": json.Number("4")}))
	role := func(kinds []sallyport.InputKind) *sallyport.Personality {
		return &sallyport.Personality{Name: "role", Toolset: []string{"asks"}, Input: kinds}
	}
	many := make([]sallyport.Question, sallyport.MaxQuestions+1)
	for i := range many {
		many[i] = question
		many[i].Name = strings.Repeat("q", i+1)
	}
	for _, test := range []struct {
		name   string
		role   *sallyport.Personality
		input  sallyport.Input
		kinds  []sallyport.InputKind
		q      []sallyport.Question
		answer func(context.Context, []sallyport.Question) ([]sallyport.Answer, error)
		want   string // in the value when ok, else in the error
		ok     bool
		put    int32 // how often a question was asked
	}{
		{name: "answered with defaults", want: `"n":4,"s":"d"`, ok: true, put: 1},
		{name: "declined", answer: says(sallyport.Answer{Action: sallyport.ActionDecline, Values: map[string]any{"n": 1}}), want: `"Action":"decline","Values":null`, ok: true, put: 1},
		{name: "no number", answer: says(accepts(map[string]any{"n": "4"})), want: "does not fit its form: /n: must be an integer", put: 1},
		{name: "missing", answer: says(accepts(nil)), want: "does not fit its form: /n: is required", put: 1},
		{name: "no action", answer: says(sallyport.Answer{}), want: "there is no answer to q", put: 1},
		{name: "too few answers", answer: says(), want: "not every question was answered", put: 1},
		{name: "an error that is the edge's own", answer: func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) {
			return nil, errors.New("password of the edge")
		}, want: "there is no answer", put: 1},
		{name: "undeclared", kinds: []sallyport.InputKind{}, want: "the tool declares no input"},
		{name: "another kind", kinds: []sallyport.InputKind{sallyport.InputModel}, want: "input of kind person is not in the declared input"},
		{name: "beyond the role", role: role([]sallyport.InputKind{sallyport.InputModel}), want: "input of kind person is not in the declared input"},
		{name: "a role without any", role: role([]sallyport.InputKind{}), want: "input of kind person is not in the declared input"},
		{name: "within the role", role: role(everyone), want: `"n":4`, ok: true, put: 1},
		{name: "no one to ask", input: nobody{}, want: "cannot be asked"},
		{name: "no question", q: []sallyport.Question{}, want: "expected 1 to 8 questions"},
		{name: "too many", q: many, want: "expected 1 to 8 questions"},
		{name: "same name", q: []sallyport.Question{question, question}, want: "a name of its own"},
		{name: "bad name", q: []sallyport.Question{{Name: "a b", Kind: sallyport.InputPerson, Message: "?"}}, want: "a name of its own"},
		{name: "no message", q: []sallyport.Question{{Name: "a", Kind: sallyport.InputPerson}}, want: "expected a message"},
		{name: "long message", q: []sallyport.Question{{Name: "a", Kind: sallyport.InputPerson, Message: strings.Repeat("x", 4001)}}, want: "expected a message"},
		{name: "no form", q: []sallyport.Question{{Name: "a", Kind: sallyport.InputPerson, Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{"o":{"type":"object"}}}`)}}, want: "question a: /properties/o/type"},
		{name: "too many tokens", kinds: everyone, q: []sallyport.Question{{Name: "a", Kind: sallyport.InputModel, Message: "?", MaxTokens: 100_001}}, want: "at most 100000 tokens"},
		{name: "a model that declines", kinds: everyone, q: []sallyport.Question{{Name: "a", Kind: sallyport.InputModel, Message: "?"}}, answer: says(sallyport.Answer{Action: sallyport.ActionDecline}), want: "there is no answer to a", put: 1},
		{name: "folders", kinds: everyone, q: []sallyport.Question{{Name: "a", Kind: sallyport.InputFolders}}, answer: says(sallyport.Answer{Action: sallyport.ActionAccept, Folders: []sallyport.Folder{{URI: "file:///x"}}}), want: `file:///x`, ok: true, put: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &person{answer: test.answer}
			if p.answer == nil {
				p.answer = four
			}
			if test.kinds == nil {
				test.kinds = persons
			}
			if test.q == nil {
				test.q = []sallyport.Question{question}
			}
			var in sallyport.Input = p
			if test.input != nil {
				in = nil
			}
			res := inquire(t, test.role, in, asks(test.kinds, test.q...))
			if res.OK != test.ok || !strings.Contains(res.Value+res.Error, test.want) {
				t.Errorf("got %+v, want %q", res, test.want)
			}
			if n := p.asked.Load(); n != test.put {
				t.Errorf("a question was asked %d times, want %d", n, test.put)
			}
		})
	}
}

// nobody marks a case without a way to the caller.
type nobody struct{ sallyport.Input }

func TestQuestionsAreCleaned(t *testing.T) {
	t.Parallel()
	var got sallyport.Question
	p := &person{answer: func(_ context.Context, q []sallyport.Question) ([]sallyport.Answer, error) {
		got = q[0]
		return []sallyport.Answer{accepts(nil)}, nil
	}}
	g := newGateWith(t, nil, &sallyport.Backends{Secrets: fixedSecrets{"a/b": "hunter2hunter2"}})
	g.add(sallyport.Tool{
		Name: "asks", Capabilities: sallyport.Capabilities{Input: persons, Secrets: []string{"a/b"}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			secret, err := c.Secrets.Get(ctx, "a/b")
			if err != nil {
				return sallyport.Result{}, err
			}
			_, err = c.Input.Ask(ctx, sallyport.Question{
				Name: "q", Kind: sallyport.InputPerson, Message: "Is it " + secret.Reveal() + "?\u202e",
				Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","title":"` + secret.Reveal() + `"}}}`),
			})
			return sallyport.OK("done"), err
		},
	})
	c := g.caller()
	c.Input = p
	if res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"}); !res.OK {
		t.Fatal(res.Error)
	}
	if text := got.Message + string(got.Schema); strings.Contains(text, "hunter2hunter2") || strings.Contains(text, "\u202e") || !strings.Contains(text, "Is it ") {
		t.Errorf("the question left as %q", text)
	}
}

func TestACallAsksSoOftenOnly(t *testing.T) {
	t.Parallel()
	p := &person{answer: says(accepts(map[string]any{"n": json.Number("1")}))}
	res := inquire(t, nil, p, sallyport.Tool{Name: "asks", Capabilities: sallyport.Capabilities{Input: persons}, Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		for {
			if _, err := c.Input.Ask(ctx, question); err != nil {
				return sallyport.Result{}, err
			}
		}
	}})
	if res.OK || !strings.Contains(res.Error, "asked 16 times") || p.asked.Load() != sallyport.MaxAsks {
		t.Errorf("asked %d times: %+v", p.asked.Load(), res)
	}
}

// TestThinkingDoesNotCount holds that a person may take longer than the tool,
// and that the tool's own time still ends.
func TestThinkingDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &person{answer: func(context.Context, []sallyport.Question) ([]sallyport.Answer, error) {
			time.Sleep(time.Hour)
			return []sallyport.Answer{accepts(map[string]any{"n": json.Number("1")})}, nil
		}}
		tool := asks(persons, question)
		tool.Timeout = time.Second
		if res := inquire(t, nil, p, tool); !res.OK {
			t.Errorf("the person's time counted: %s", res.Error)
		}
		ask := tool.Run
		tool.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			if res, err := ask(ctx, c); err != nil {
				return res, err
			}
			<-ctx.Done()
			return sallyport.Result{}, ctx.Err()
		}
		if res := inquire(t, nil, p, tool); res.OK || !strings.Contains(res.Error, "timed out after 1s") {
			t.Errorf("the tool's own time did not end: %+v", res)
		}
	})
}

func TestNobodyIsAskedUnderRulesThatAreOver(t *testing.T) {
	t.Parallel()
	g := newGate(t, nil)
	tool := asks(persons, question)
	g.add(tool)
	c := g.caller()
	c.Input = &person{answer: func(ctx context.Context, _ []sallyport.Question) ([]sallyport.Answer, error) {
		g.StopWaiting()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	res := g.Call(t.Context(), c, sallyport.Request{Tool: "asks"})
	if res.OK || !strings.Contains(res.Error, "the configuration changed") {
		t.Errorf("got %+v", res)
	}
}

// TestACallThatIsOverAsksNobody keeps the accessor and uses it with a context
// of its own.
func TestACallThatIsOverAsksNobody(t *testing.T) {
	t.Parallel()
	p := &person{answer: says(accepts(nil))}
	var kept sallyport.Input
	if res := inquire(t, nil, p, sallyport.Tool{Name: "asks", Capabilities: sallyport.Capabilities{Input: persons}, Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		kept = c.Input
		return sallyport.OK(""), nil
	}}); !res.OK {
		t.Fatal(res.Error)
	}
	if _, err := kept.Ask(context.Background(), question); err == nil || kept.Can(sallyport.InputPerson) || p.asked.Load() != 0 {
		t.Errorf("asked after the call: %v", err)
	}
}

func TestInputIsDeclaredWell(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool sallyport.Tool
		want string
	}{
		{sallyport.Tool{Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{"anyone"}}}, `kind "anyone"`},
		{sallyport.Tool{Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{"person", "person"}}}, "at most once"},
		{sallyport.Tool{Cache: &sallyport.Cache{}, Capabilities: sallyport.Capabilities{Input: persons}}, "cannot have its results kept"},
	} {
		c.tool.Name, c.tool.Run = "asks", echo
		if err := newGate(t, nil).Register(c.tool); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
