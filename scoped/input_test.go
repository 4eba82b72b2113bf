package scoped_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
)

// edge answers questions as a test wants.
type edge struct {
	asked   int
	answers []sallyport.Answer
	err     error
}

func (e *edge) Can(k sallyport.InputKind) bool { return k == sallyport.InputPerson }

func (e *edge) Ask(context.Context, ...sallyport.Question) ([]sallyport.Answer, error) {
	e.asked++
	return e.answers, e.err
}

// asking binds a call that may ask kinds, of an edge that may be nil.
func asking(ctx context.Context, t *testing.T, in sallyport.Input, kinds ...sallyport.InputKind) (sallyport.Input, *journal) {
	t.Helper()
	s, err := scoped.New("tool", &sallyport.Grant{Input: kinds}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, j := newCall(), &journal{}
	if _, err := s.Bind(ctx, c, scoped.Turn{Input: in}, j.note); err != nil {
		t.Fatal(err)
	}
	return c.Input, j
}

func TestInput(t *testing.T) {
	t.Parallel()
	person := sallyport.Question{Name: "q-1_A", Kind: sallyport.InputPerson, Message: "?", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":3}}}`)}
	model := sallyport.Question{Name: "m", Kind: sallyport.InputModel, Message: "?"}
	folders := sallyport.Question{Name: "f", Kind: sallyport.InputFolders}
	accept := sallyport.Answer{Action: sallyport.ActionAccept}
	with := func(q sallyport.Question, edit func(*sallyport.Question)) []sallyport.Question {
		edit(&q)
		return []sallyport.Question{q}
	}
	for _, tt := range []struct {
		name string
		q    []sallyport.Question
		edge edge
		want string // of the error; empty when there are answers
		put  int
	}{
		{"everyone", []sallyport.Question{person, model, folders}, edge{answers: []sallyport.Answer{accept, accept, accept}}, "", 1},
		{"cancelled", []sallyport.Question{person}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionCancel}}}, "", 1},
		{"an unknown kind", with(person, func(q *sallyport.Question) { q.Kind = "anyone" }), edge{}, "input of kind anyone is not in the declared input", 0},
		{"no name", with(person, func(q *sallyport.Question) { q.Name = "" }), edge{}, "a name of its own", 0},
		{"a long name", with(person, func(q *sallyport.Question) { q.Name = strings.Repeat("x", 65) }), edge{}, "a name of its own", 0},
		{"a name in other letters", with(person, func(q *sallyport.Question) { q.Name = "ä" }), edge{}, "a name of its own", 0},
		{"no prompt", with(model, func(q *sallyport.Question) { q.Message = "" }), edge{}, "expected a message", 0},
		{"a long prompt", with(model, func(q *sallyport.Question) { q.System = strings.Repeat("x", 256<<10) }), edge{}, "expected a message", 0},
		{"fewer than no tokens", with(model, func(q *sallyport.Question) { q.MaxTokens = -1 }), edge{}, "at most 100000 tokens", 0},
		{"a long text", []sallyport.Question{model}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionAccept, Text: strings.Repeat("x", 256<<10+1)}}}, "too long", 1},
		{"many folders", []sallyport.Question{folders}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionAccept, Folders: make([]sallyport.Folder, 1001)}}}, "too long", 1},
		{"folders that are declined", []sallyport.Question{folders}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionDecline}}}, "there is no answer to f", 1},
		{"an unknown action", []sallyport.Question{person}, edge{answers: []sallyport.Answer{{Action: "approve"}}}, "there is no answer to q-1_A", 1},
		{"what does not fit", []sallyport.Question{person}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionAccept, Values: map[string]any{"n": "x"}}}}, "does not fit its form: /n", 1},
		{"what was not asked", []sallyport.Question{person}, edge{answers: []sallyport.Answer{{Action: sallyport.ActionAccept, Values: map[string]any{"x": 1}}}}, "does not fit its form: /x", 1},
		{"one answer for two", []sallyport.Question{person, model}, edge{answers: []sallyport.Answer{accept}}, "not every question", 1},
		{"the edge's own words", []sallyport.Question{person}, edge{err: errors.New("password")}, "there is no answer", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, _ := asking(t.Context(), t, &tt.edge, sallyport.InputPerson, sallyport.InputModel, sallyport.InputFolders)
			got, err := in.Ask(t.Context(), tt.q...)
			switch {
			case tt.edge.asked != tt.put:
				t.Errorf("asked %d times, want %d", tt.edge.asked, tt.put)
			case tt.want == "" && (err != nil || len(got) != len(tt.q)):
				t.Errorf("Ask() = %v, %v, want answers", got, err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "password")):
				t.Errorf("Ask() = %v, want %q", err, tt.want)
			}
			if tt.name == "everyone" && got[0].Values["n"] != json.Number("3") {
				t.Errorf("Values = %v, want the default", got[0].Values)
			}
		})
	}
}

// TestInputCan be asked: what is granted and the edge can, while the call runs.
func TestInputCan(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, j := asking(ctx, t, &edge{answers: []sallyport.Answer{{Action: sallyport.ActionDecline}}}, sallyport.InputPerson, sallyport.InputModel)
	for kind, want := range map[sallyport.InputKind]bool{sallyport.InputPerson: true, sallyport.InputModel: false, sallyport.InputFolders: false} {
		if got := in.Can(kind); got != want {
			t.Errorf("Can(%s) = %v, want %v", kind, got, want)
		}
	}
	q := sallyport.Question{Name: "q", Kind: sallyport.InputPerson, Message: "?"}
	if _, err := in.Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if got := j.reasons(); len(got) != 1 || got[0] != "input [person] ask q" {
		t.Errorf("noted %q, want who was asked", got)
	}
	cancel()
	if _, err := in.Ask(t.Context(), q); err == nil || in.Can(sallyport.InputPerson) {
		t.Errorf("after the call Ask() = %v, want an error", err)
	}
	alone, _ := asking(t.Context(), t, nil, sallyport.InputPerson)
	if _, err := alone.Ask(t.Context(), q); err == nil || !strings.Contains(err.Error(), "call it from an MCP client that can") || alone.Can(sallyport.InputPerson) {
		t.Errorf("without an edge Ask() = %v, want what to do", err)
	}
	often, _ := asking(t.Context(), t, &edge{answers: []sallyport.Answer{{Action: sallyport.ActionDecline}}}, sallyport.InputPerson)
	for i := range sallyport.MaxAsks + 1 {
		if _, err := often.Ask(t.Context(), q); (err == nil) != (i < sallyport.MaxAsks) {
			t.Errorf("Ask() number %d = %v", i+1, err)
		}
	}
}
