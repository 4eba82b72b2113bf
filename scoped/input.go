package scoped

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"unicode/utf8"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
	"github.com/sallyport/sallyport/schema"
)

const (
	// maxQuestionChars bounds a question, in code points: a person reads it.
	maxQuestionChars = 4000
	// maxPromptBytes bounds what a model is asked to continue.
	maxPromptBytes = 256 << 10
	// maxTokens bounds what a model is asked for, defaultTokens is asked for
	// when the tool does not say.
	maxTokens, defaultTokens = 100_000, 1000
	// maxFolders bounds the folders of a caller.
	maxFolders = 1000
)

// inputAccessor asks the caller.
type inputAccessor struct {
	b     *Binding
	asked atomic.Int32
}

// Can reports whether the grant holds the kind and the caller can be asked.
func (in *inputAccessor) Can(kind sallyport.InputKind) bool {
	return in.b.checkLive() == nil && slices.Contains(in.b.scope.grant.Input, kind) && in.b.turn.Input != nil && in.b.turn.Input.Can(kind)
}

// Ask puts questions of granted kinds and holds the answers to them.
func (in *inputAccessor) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if err := in.b.checkLive(); err != nil {
		return nil, err
	}
	questions = slices.Clone(questions)
	forms, err := in.checkQuestions(questions)
	if err != nil {
		return nil, err
	}
	if in.b.turn.Input == nil {
		return nil, newUnaskedError(questions[0].Kind)
	}
	if in.asked.Add(1) > sallyport.MaxAsks {
		return nil, notAvailable("", fmt.Sprintf("the call has asked %d times already", sallyport.MaxAsks))
	}
	for i := range questions {
		in.b.recordAllowed(group.Input, string(questions[i].Kind), "ask "+questions[i].Name)
	}
	// A call that is over asks no questions, whatever context the tool uses.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(in.b.call, cancel)()
	answers, err := in.b.turn.Input.Ask(ctx, questions...)
	if err != nil {
		return nil, hideBackendError(err, "there is no answer")
	}
	if len(answers) != len(questions) {
		return nil, notAvailable("", "not every question was answered")
	}
	answers = slices.Clone(answers) // the edge may have handed out a list of its own
	for i := range answers {
		if err := checkAnswer(&questions[i], forms[i], &answers[i]); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// newUnaskedError returns the refusal of a question that this caller cannot be
// asked.
func newUnaskedError(kind sallyport.InputKind) error {
	return notAvailable(string(kind), "the tool asks for input of kind "+string(kind)+", which this caller cannot be asked for; call it from an MCP client that can")
}

// checkQuestions checks questions against the grant and their form, and returns
// the compiled forms for persons.
func (in *inputAccessor) checkQuestions(questions []sallyport.Question) ([]*schema.Schema, error) {
	if n := len(questions); n == 0 || n > sallyport.MaxQuestions {
		return nil, sallyport.InputInvalid(fmt.Sprintf("expected 1 to %d questions", sallyport.MaxQuestions))
	}
	forms := make([]*schema.Schema, len(questions))
	for i := range questions {
		q := &questions[i]
		if !slices.Contains(in.b.scope.grant.Input, q.Kind) {
			in.b.recordRefusal(group.Input, string(q.Kind), func(entry string) bool { return entry == string(q.Kind) })
			return nil, notAvailable(string(q.Kind), "input of kind "+clipItem(string(q.Kind))+" is not in the declared input")
		}
		if !isName(q.Name) || slices.ContainsFunc(questions[:i], func(o sallyport.Question) bool { return o.Name == q.Name }) {
			return nil, sallyport.InputInvalid("each question needs a name of its own that matches [a-zA-Z0-9_-]{1,64}")
		}
		var err error
		if forms[i], err = checkQuestion(q); err != nil {
			return nil, sallyport.InputInvalid("question " + q.Name + ": " + err.Error())
		}
	}
	return forms, nil
}

func checkQuestion(q *sallyport.Question) (*schema.Schema, error) {
	switch q.Kind {
	case sallyport.InputPerson:
		if q.Message == "" || utf8.RuneCountInString(q.Message) > maxQuestionChars {
			return nil, fmt.Errorf("expected a message of 1 to %d characters", maxQuestionChars)
		}
		return schema.CompileForm(q.Schema)
	case sallyport.InputModel:
		if q.MaxTokens == 0 {
			q.MaxTokens = defaultTokens
		}
		if q.Message == "" || len(q.Message)+len(q.System) > maxPromptBytes {
			return nil, fmt.Errorf("expected a message, with the system prompt of at most %d bytes", maxPromptBytes)
		}
		if q.MaxTokens < 0 || q.MaxTokens > maxTokens {
			return nil, fmt.Errorf("expected at most %d tokens", maxTokens)
		}
	}
	return nil, nil
}

// checkAnswer checks an answer against its question. A form is filled up with
// its defaults.
func checkAnswer(q *sallyport.Question, form *schema.Schema, a *sallyport.Answer) error {
	switch {
	case q.Kind != sallyport.InputPerson && a.Action != sallyport.ActionAccept,
		a.Action != sallyport.ActionAccept && a.Action != sallyport.ActionDecline && a.Action != sallyport.ActionCancel:
		return notAvailable("", "there is no answer to "+q.Name)
	case a.Action != sallyport.ActionAccept:
		*a = sallyport.Answer{Action: a.Action}
	case len(a.Text) > maxPromptBytes, len(a.Folders) > maxFolders:
		return notAvailable("", "the answer to "+q.Name+" is too long")
	case form != nil:
		values, err := form.Fill(a.Values)
		if err != nil {
			return sallyport.InputInvalid("the answer to " + q.Name + " does not fit its form: " + err.Error())
		}
		a.Values = values
	}
	return nil
}

// isName reports whether a text matches [a-zA-Z0-9_-]{1,64}.
func isName(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for _, r := range []byte(s) {
		if (r|0x20 < 'a' || r|0x20 > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

type refusedInput struct{ note func(sallyport.Decision) }

// Can reports false: a tool that declares nothing may ask no questions.
func (refusedInput) Can(sallyport.InputKind) bool { return false }

func (in refusedInput) Ask(context.Context, ...sallyport.Question) ([]sallyport.Answer, error) {
	sendDecision(in.note, newRefusal(group.Input, ""))
	return nil, notAvailable("", "the tool declares no input")
}
