package upstream

//lint:file-ignore SA1019 servers may ask for a model and for folders as long as protocols have that

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
)

// kindOf maps the requests with which servers ask their client to the kinds of
// input.
var kindOf = map[string]sallyport.InputKind{
	"elicitation/create":     sallyport.InputPerson,
	"sampling/createMessage": sallyport.InputModel,
	"roots/list":             sallyport.InputFolders,
}

// aName matches the names that the gate accepts for a question.
var aName = text.Pattern(`^[a-zA-Z0-9_-]{1,64}$`)

// maxState bounds, in bytes, what a server wants back with the answers: its
// state and its names of the questions.
const maxState = 256 << 10

// questionLimits bounds one question. It is not counted as memory of the server, and
// maxAsked of them may wait.
var questionLimits = schema.Limits{Bytes: 1 << 20, Nodes: 20_000}

// asksFor reports whether the server's declaration lets it ask with a method.
func (s *mountedServer) asksFor(method string) bool {
	kind, ok := kindOf[method]
	return ok && slices.Contains(s.Capabilities.Input, kind)
}

// inputRequests holds the questions of a server, the keys under which it wants the
// answers, and its state as received.
type inputRequests struct {
	keys      []string
	questions []sallyport.Question
	state     any
}

// inquiryOf reads the questions of an answer that asks for input.
func (s *mountedServer) inquiryOf(tree map[string]any) (q inputRequests, err error) {
	requests, _ := tree["inputRequests"].(map[string]any)
	if n := len(requests); n == 0 || n > sallyport.MaxQuestions {
		return q, fmt.Errorf("the server asks for input without 1 to %d questions", sallyport.MaxQuestions)
	}
	q.state = tree["requestState"]
	state, ok := q.state.(string)
	size := len(state)
	for _, key := range slices.Sorted(maps.Keys(requests)) {
		r, _ := requests[key].(map[string]any)
		method := textOf(r, "method")
		params, _ := r["params"].(map[string]any)
		if !s.asksFor(method) {
			return q, fmt.Errorf("the server asks with %s, which it is not offered: see capabilities.input", quoteName(method))
		}
		one, err := questionOf(method, params)
		if err != nil {
			return q, err
		}
		one.Name = q.nextName(key, requests)
		q.keys, q.questions = append(q.keys, key), append(q.questions, one)
		size += len(key)
	}
	if q.state != nil && !ok || size > maxState {
		return q, fmt.Errorf("the server asks with a state that is no text, or with more than %d bytes of it and of names", maxState)
	}
	return q, nil
}

// nextName returns a name for the next question: its key if that is a valid name,
// else a name that no other question has.
func (q *inputRequests) nextName(key string, requests map[string]any) string {
	name := key
	for n := len(q.keys) + 1; !aName().MatchString(name); n++ {
		name = "question_" + strconv.Itoa(n)
		if _, taken := requests[name]; taken || slices.ContainsFunc(q.questions, func(o sallyport.Question) bool { return o.Name == name }) {
			name = ""
		}
	}
	return name
}

// questionOf reads one question. It refuses features that the gate does not
// support, so that the user never answers less than the server asked.
func questionOf(method string, params map[string]any) (q sallyport.Question, err error) {
	q = sallyport.Question{Name: "q1", Kind: kindOf[method]}
	switch q.Kind {
	case sallyport.InputPerson:
		if mode, there := params["mode"]; there && mode != "form" {
			return q, errors.New("the server asks a person in another way than with a form")
		}
		q.Message, _ = params["message"].(string)
		if q.Schema, err = json.Marshal(params["requestedSchema"]); err != nil {
			return q, err
		}
	case sallyport.InputModel:
		if q.Message, err = promptOf(params); err != nil {
			return q, err
		}
		q.System, _ = params["systemPrompt"].(string)
		if n, ok := params["maxTokens"].(json.Number); ok {
			if q.MaxTokens, err = strconv.Atoi(n.String()); err != nil {
				return q, errors.New("maxTokens is no whole number")
			}
		}
	}
	return q, nil
}

// promptOf reads the one text that a model is to continue.
func promptOf(params map[string]any) (string, error) {
	for _, beyond := range []string{"tools", "toolChoice"} {
		if params[beyond] != nil {
			return "", fmt.Errorf("the server asks a model with %s, which is not offered", beyond)
		}
	}
	if c, _ := params["includeContext"].(string); c != "" && c != "none" {
		return "", errors.New("the server asks a model for its context, which is not offered")
	}
	list, _ := params["messages"].([]any)
	if len(list) != 1 {
		return "", errors.New("the server asks a model with other than one message")
	}
	m, _ := list[0].(map[string]any)
	content := m["content"]
	if several, ok := content.([]any); ok && len(several) == 1 {
		content = several[0]
	}
	part, _ := content.(map[string]any)
	text, ok := part["text"].(string)
	if !ok || part["type"] != "text" || m["role"] != "user" {
		return "", errors.New("the server asks a model with other than a text of the user")
	}
	return text, nil
}

func answerTo(kind sallyport.InputKind, a *sallyport.Answer) any {
	switch kind {
	case sallyport.InputPerson:
		out := map[string]any{"action": a.Action}
		if a.Action == sallyport.ActionAccept {
			out["content"] = a.Values
		}
		return out
	case sallyport.InputModel:
		return map[string]any{
			"role": "assistant", "model": cmp.Or(a.Model, "unknown"), "stopReason": "endTurn",
			"content": map[string]any{"type": "text", "text": a.Text},
		}
	default:
		roots := make([]map[string]any, len(a.Folders))
		for i, f := range a.Folders {
			roots[i] = map[string]any{"uri": f.URI}
			if f.Name != "" {
				roots[i]["name"] = f.Name
			}
		}
		return map[string]any{"roots": roots}
	}
}

// clientCapabilities returns the capabilities with which the client greets a server: the
// kinds of input that the server's declaration names.
func (s *mountedServer) clientCapabilities() *mcp.ClientCapabilities {
	c := &mcp.ClientCapabilities{}
	for _, kind := range s.Capabilities.Input {
		switch kind {
		case sallyport.InputPerson:
			c.Elicitation = &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}
		case sallyport.InputModel:
			c.Sampling = &mcp.SamplingCapabilities{}
		case sallyport.InputFolders:
			c.RootsV2 = &mcp.RootCapabilities{}
		}
	}
	return c
}

// capabilitiesOfCall returns the capabilities for one call, or nil when the caller cannot be
// asked.
func (s *mountedServer) capabilitiesOfCall(c *sallyport.Call) []byte {
	if len(s.Capabilities.Input) == 0 {
		return nil
	}
	// The library's type would declare roots even when there are none.
	able := map[string]any{}
	for _, kind := range s.Capabilities.Input {
		if !c.Input.Can(kind) {
			continue
		}
		switch kind {
		case sallyport.InputPerson:
			able["elicitation"] = map[string]any{"form": struct{}{}}
		case sallyport.InputModel:
			able["sampling"] = struct{}{}
		case sallyport.InputFolders:
			able["roots"] = struct{}{}
		}
	}
	text, _ := json.Marshal(able) // never fails
	return text
}

// refuseMissingCapability converts a server's error about input that its caller cannot give
// into a refusal of the call.
func (s *mountedServer) refuseMissingCapability(ctx context.Context, c *sallyport.Call, err error) error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Code != mcp.CodeMissingRequiredClientCapabilities {
		return nil
	}
	var need mcp.MissingRequiredClientCapabilityData
	if len(e.Data) > maxErrorData || json.Unmarshal(e.Data, &need) != nil || need.RequiredCapabilities == nil {
		return nil
	}
	for kind, needed := range map[sallyport.InputKind]bool{
		sallyport.InputPerson:  need.RequiredCapabilities.Elicitation != nil,
		sallyport.InputModel:   need.RequiredCapabilities.Sampling != nil,
		sallyport.InputFolders: need.RequiredCapabilities.RootsV2 != nil,
	} {
		if needed && slices.Contains(s.Capabilities.Input, kind) && !c.Input.Can(kind) {
			_, err := c.Input.Ask(ctx, sallyport.Question{Name: "q1", Kind: kind, Message: "?"})
			return err
		}
	}
	return nil
}

// answerInputRequests puts the questions of an answer before the caller and the replies into
// the next request.
func (s *mountedServer) answerInputRequests(ctx context.Context, c *sallyport.Call, r *serverRequest, tree map[string]any) error {
	if len(s.Capabilities.Input) == 0 {
		return requestFailed(r.method, errors.New("the server asks for input, which servers are not offered"))
	}
	q, err := s.inquiryOf(tree)
	if err != nil {
		return requestFailed(r.method, err)
	}
	answers, err := c.Input.Ask(ctx, q.questions...)
	if err != nil {
		return err
	}
	responses := map[string]any{}
	for i := range answers {
		responses[q.keys[i]] = answerTo(q.questions[i].Kind, &answers[i])
	}
	more := map[string]any{"inputResponses": responses}
	if q.state != nil {
		more["requestState"] = q.state
	}
	text, err := json.Marshal(more)
	if err != nil {
		return requestFailed(r.method, err)
	}
	text[0] = ','
	r.answers = text[:len(text)-1]
	return nil
}

// answerQuestion puts a question of a server before the caller of the call that the
// server works on. The answer is only sent while the server still works on that
// call.
func (l *connLink) answerQuestion(m *jsonrpc.Request, of *sallyport.Call) (context.Context, json.RawMessage, *jsonrpc.Error) {
	ctx, c := l.findCause(of)
	no := func(code int64, text string) (context.Context, json.RawMessage, *jsonrpc.Error) {
		return ctx, nil, &jsonrpc.Error{Code: code, Message: text}
	}
	if c == nil {
		return no(jsonrpc.CodeInvalidRequest, "it is not known during which call this is asked")
	}
	v, err := schema.Decode([]byte(cmp.Or(string(m.Params), "{}")), &questionLimits)
	params, ok := v.(map[string]any)
	if err != nil || !ok {
		return no(jsonrpc.CodeInvalidParams, "the parameters cannot be read")
	}
	q, err := questionOf(m.Method, params)
	if err != nil {
		return no(jsonrpc.CodeInvalidParams, err.Error())
	}
	answers, err := c.Input.Ask(ctx, q)
	if err != nil {
		return no(jsonrpc.CodeInternalError, "there is no answer: "+err.Error())
	}
	text, err := json.Marshal(answerTo(q.Kind, &answers[0]))
	if err != nil {
		return no(jsonrpc.CodeInternalError, "the answer cannot be sent")
	}
	return ctx, text, nil
}

// findCause returns the call that the server works on and a context that ends with
// that work. If the connection does not say which call it is, there must be
// exactly one.
func (l *connLink) findCause(of *sallyport.Call) (context.Context, *sallyport.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of == nil && len(l.calls) == 1 {
		for _, r := range l.calls {
			of = r.call
		}
	}
	if of == nil {
		return nil, nil
	}
	if r := l.calls[of.ID]; r != nil && r.request != nil {
		return r.request, r.call
	}
	return nil, nil
}
