package gateway

//lint:file-ignore SA1019 clients are asked for their model and their folders as long as protocols have that; only this file knows of it

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// The questions to a client.
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodFolder = "roots/list"
)

// errUnable returns the tool's error for a kind of question that its client
// cannot answer.
func errUnable(kind sallyport.InputKind) error {
	return unansweredError("the tool asks for input of kind " + string(kind) + ", which this client does not offer")
}

func unansweredError(text string) error {
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Operation: "ask", Detail: text}
}

// capabilityRequired returns the answer to a request whose client lacks the capability
// that the tool's question needs.
func capabilityRequired(kind sallyport.InputKind) error {
	need := map[sallyport.InputKind]string{
		sallyport.InputPerson: "elicitation", sallyport.InputModel: "sampling", sallyport.InputFolders: "roots",
	}[kind]
	// Strings always marshal.
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{need: struct{}{}}})
	return &jsonrpc.Error{
		Code: mcp.CodeMissingRequiredClientCapabilities, Data: data,
		Message: "the tool asks for input of kind " + string(kind) + ", which the client does not declare",
	}
}

// requestOf returns a question in the protocol's form. The message tells the
// person which tool asks, because the rest of the text is the tool's.
func (c *askableClient) requestOf(q *sallyport.Question) mcp.InputRequest {
	switch q.Kind {
	case sallyport.InputPerson:
		form := q.Schema
		if len(form) == 0 {
			form = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		return &mcp.ElicitParams{Mode: "form", Message: c.q.Tool + " asks:\n\n" + q.Message, RequestedSchema: form}
	case sallyport.InputModel:
		return &mcp.CreateMessageParams{
			MaxTokens: int64(q.MaxTokens), SystemPrompt: q.System,
			Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: q.Message}}},
		}
	default:
		return &mcp.ListRootsParams{}
	}
}

// readAnswer reads a client's answer to a question.
func readAnswer(q *sallyport.Question, text json.RawMessage) (a sallyport.Answer, err error) {
	response, err := readResponse(text)
	if err != nil || response == nil {
		return a, errors.New("expected the answer to a question")
	}
	a.Action = sallyport.ActionAccept
	switch r := response.(type) {
	case *mcp.ElicitResult:
		a.Action, a.Values = sallyport.Action(r.Action), r.Content
		switch {
		case q.Kind != sallyport.InputPerson:
			err = errors.New("expected no result of an elicitation")
		case a.Action == sallyport.ActionAccept:
			err = checkForm(q, r.Content)
		case a.Action != sallyport.ActionDecline && a.Action != sallyport.ActionCancel:
			err = errors.New("the action is none of accept, decline and cancel")
		}
	case *mcp.CreateMessageResult:
		err = copyText(&a, q, r.Model, r.Content)
	case *mcp.CreateMessageWithToolsResult:
		if len(r.Content) != 1 {
			return a, errors.New("expected one text")
		}
		err = copyText(&a, q, r.Model, r.Content[0])
	case *mcp.ListRootsResult:
		if q.Kind != sallyport.InputFolders {
			return a, errors.New("expected no list of roots")
		}
		for _, root := range r.Roots {
			if root != nil {
				a.Folders = append(a.Folders, sallyport.Folder{URI: root.URI, Name: root.Name})
			}
		}
	default:
		err = fmt.Errorf("expected the answer to a question of kind %s", q.Kind)
	}
	return a, err
}

// checkForm checks a filled form against the question, so that the client learns
// of a mistake. The gate checks it again.
func checkForm(q *sallyport.Question, values map[string]any) error {
	form, err := schema.CompileForm(q.Schema)
	if err != nil {
		return err
	}
	_, err = form.Fill(values)
	return err
}

func copyText(a *sallyport.Answer, q *sallyport.Question, model string, content mcp.Content) error {
	t, ok := content.(*mcp.TextContent)
	if q.Kind != sallyport.InputModel || !ok {
		return errors.New("expected no message, or one text")
	}
	a.Text, a.Model = t.Text, model
	return nil
}

// sessionElicitor asks over a session while the call and its request wait.
type sessionElicitor struct {
	*askableClient
	waits context.Context // that of the request
}

func (s *sessionElicitor) Can(kind sallyport.InputKind) bool { return s.canAnswer(kind) }

func (s *sessionElicitor) Ask(ctx context.Context, questions ...sallyport.Question) ([]sallyport.Answer, error) {
	if kind := s.firstUnanswerable(questions); kind != "" {
		return nil, errUnable(kind)
	}
	waiting, cancel := context.WithTimeout(s.waits, askWait)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	waiting, done, ok := s.questions.Begin(waiting, s.caller.Principal.Name)
	defer done()
	if !ok {
		return nil, unansweredError("too many questions wait for an answer")
	}
	answers := make([]sallyport.Answer, len(questions))
	for i := range questions {
		var err error
		if answers[i], err = s.askQuestion(waiting, &questions[i]); err != nil {
			s.o.Logger.Warn("a question of a tool has no answer", "tool", s.q.Tool, "question", questions[i].Name, "error", err)
			return nil, unansweredError("the client did not answer " + questions[i].Name)
		}
	}
	if !s.stillAuthorized() {
		return nil, &sallyport.Error{
			Code: sallyport.CodePermissionDenied, Operation: "ask", Detail: "what the caller may do has changed while it was asked",
		}
	}
	return answers, nil
}

func (s *sessionElicitor) askQuestion(ctx context.Context, q *sallyport.Question) (sallyport.Answer, error) {
	method := map[sallyport.InputKind]string{
		sallyport.InputPerson: methodElicit, sallyport.InputModel: methodSample, sallyport.InputFolders: methodFolder,
	}[q.Kind]
	r := s.askableClient.request
	text, err := r.session.askClient(ctx, r.send, method, s.requestOf(q))
	if err != nil {
		return sallyport.Answer{}, err
	}
	return readAnswer(q, text)
}
