// Package subagent holds the tool task, with which an agent hands work to a sub-agent.
// [Tool] returns it for a registry.
//
// The sub-agent is the operator's runner: a program in the sandbox, or a service that a
// request reaches. It gets the prompt, and may call tools through the gate, with less
// than its caller: the tools and ceilings that the call names, within a budget and a
// time. A program calls over its standard input, a socket that is good for this one task;
// a service calls with a credential that is. What it answers is untrusted.
package subagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/delegation"
)

const (
	// Name is the name of the tool.
	Name = "task"
	// toolset is its label.
	toolset = "task"
	// maxTermsBytes bounds what a call may say of tools and arguments, as JSON.
	maxTermsBytes = 16 << 10
	// defaultTimeout bounds a task whose runner says nothing else.
	defaultTimeout = 10 * time.Minute
)

// arguments is the schema of the arguments.
const arguments = `{
  "type": "object", "additionalProperties": false, "required": ["prompt"],
  "properties": {
    "prompt": {"type": "string", "minLength": 1, "maxLength": 32000, "description": "What the sub-agent is to do, with everything that it needs to know. It sees nothing of this conversation."},
    "tools": {"type": "array", "maxItems": 256, "items": {"type": "string", "minLength": 1, "maxLength": 128}, "description": "The only tools that it may use: names, or labels such as @file. Leave out for all of yours."},
    "arguments": {"type": "object", "description": "Bounds for arguments, by tool: JSON Schema of the properties, such as {\"send_money\": {\"amount\": {\"maximum\": 50}}}."},
    "max_calls": {"type": "integer", "minimum": 0, "description": "Most calls of tools that it may make."},
    "max_cost_usd": {"type": "number", "exclusiveMinimum": 0, "description": "Most that its calls may cost, in US dollars."},
    "max_seconds": {"type": "integer", "minimum": 1, "description": "Longest time that it may take."}
  }
}`

// RunnerParameters is the schema of what a runner gets: what it is to do, and what it may
// use. The credential is there for a runner that calls over HTTP.
const RunnerParameters = `{
  "type": "object",
  "properties": {
    "prompt": {"type": "string"}, "tools": {"type": "array", "items": {"type": "string"}}, "arguments": {"type": "object"},
    "max_calls": {"type": "integer"}, "max_cost_usd": {"type": "number"}, "max_seconds": {"type": "integer"}, "credential": {"type": "string"}
  }
}`

// Description tells a model when to call the tool.
const Description = "Hand a piece of work to a sub-agent, which works by itself with the tools that you give it and answers once. " +
	"It never gets more than you have. What it answers may hold text of others."

// input is what a caller asks for, and with the credential what a runner gets.
type input struct {
	Prompt     string                     `json:"prompt"`
	Tools      []string                   `json:"tools,omitempty"`
	Arguments  map[string]json.RawMessage `json:"arguments,omitempty"`
	MaxCalls   *int                       `json:"max_calls,omitempty"`
	MaxCostUSD float64                    `json:"max_cost_usd,omitempty"`
	MaxSeconds int                        `json:"max_seconds,omitempty"`
	Credential string                     `json:"credential,omitempty"`
}

// Options say what a task may use at most, and where its calls go. Every field but
// CostUSD and Check has to be set.
type Options struct {
	// Book holds the delegations.
	Book *delegation.Book
	// Serve answers what the program of a task sends to the gate, until ctx ends or the
	// program does. It closes end.
	Serve func(ctx context.Context, d *delegation.Delegation, end io.ReadWriteCloser)
	// Calls is how many calls a task may make at most.
	Calls int
	// CostUSD is how much the calls of a task may cost at most, in US dollars; 0 sets no
	// bound.
	CostUSD float64
	// Check says what is wrong with the task under which the sub-agent of a caller would
	// call; nil checks nothing.
	Check func(caller *sallyport.Caller, t *sallyport.Task) error
	// Remote is true for a runner that is a service, and calls back over HTTP.
	Remote bool
}

// Tool returns task for a runner, which is a tool whose arguments are those of
// [RunnerParameters]. It touches what the runner touches. The tool may be used by many
// calls at once.
func Tool(runner sallyport.Tool, o Options) sallyport.Tool {
	t := runner
	t.Name, t.Title, t.Toolset, t.Schema = Name, cmp.Or(runner.Title, "Task"), toolset, json.RawMessage(arguments)
	t.Description = cmp.Or(runner.Description, Description)
	t.Timeout = cmp.Or(runner.Timeout, defaultTimeout)
	t.OutputIsUntrusted = true
	t.Idempotent, t.ReadOnly = false, false
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return runTask(ctx, c, &runner, &o)
	}
	return t
}

// runTask runs the runner under a delegation of its own.
func runTask(ctx context.Context, c *sallyport.Call, runner *sallyport.Tool, o *Options) (sallyport.Result, error) {
	var in input
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return sallyport.Result{}, sallyport.InputInvalid("the arguments are not those of a task")
	}
	terms, err := termsOf(ctx, &in, o)
	if err == nil && o.Check != nil {
		caller := &sallyport.Caller{Principal: c.Principal, Personality: c.Personality, Session: c.Session}
		err = o.Check(caller, &sallyport.Task{Tools: in.Tools, Arguments: in.Arguments})
	}
	if err != nil {
		return sallyport.Result{}, err
	}
	d, err := o.Book.Begin(ctx, c, terms, o.Remote)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer d.End()
	if o.Remote {
		in.Credential = d.Credential()
	}
	own := *c
	if own.Args, err = json.Marshal(&in); err != nil {
		return sallyport.Result{}, err
	}
	ch := &channel{Process: c.Process, serve: o.Serve, d: d, began: make(chan struct{}), ended: make(chan struct{})}
	if !o.Remote {
		own.Process = ch
	}
	if in.Credential != "" {
		own.Emit = func(p sallyport.Progress) {
			p.Message = hideCredential(p.Message, in.Credential)
			c.Emit(p)
		}
	}
	r, err := runner.Run(d.Context(), &own)
	d.End()
	ch.awaitEnd()
	if bad := takeOut(&r, in.Credential); bad != nil {
		return sallyport.Result{}, bad
	}
	if err != nil {
		if ctx.Err() == nil && !time.Now().Before(terms.Until) {
			err = &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: fmt.Sprintf("the task took longer than its %d s", in.MaxSeconds)}
		}
		return r, withoutCredential(err, in.Credential)
	}
	// Its answer counts once it is there, and what its calls read as they read it.
	r.Untrusted = true
	return r, nil
}

// instead stands where a credential was.
const instead = "[credential]"

func hideCredential(text, credential string) string {
	return strings.ReplaceAll(text, credential, instead)
}

// withoutCredential returns an error that says the same without a credential, which a
// service may have repeated.
func withoutCredential(err error, credential string) error {
	if credential == "" || !strings.Contains(err.Error(), credential) {
		return err
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		own := *e
		own.Detail, own.Err = hideCredential(e.Detail, credential), nil
		return &own
	}
	return errors.New(hideCredential(err.Error(), credential))
}

// takeOut takes a credential out of what a service answered: it is over, and no model
// needs it.
func takeOut(r *sallyport.Result, credential string) error {
	if credential == "" {
		return nil
	}
	r.Value, r.Error = hideCredential(r.Value, credential), hideCredential(r.Error, credential)
	for i := range r.Parts {
		p := &r.Parts[i]
		for _, text := range []*string{&p.Text, &p.URI, &p.Name, &p.Title, &p.Description, &p.MediaType} {
			*text = hideCredential(*text, credential)
		}
		p.Data = bytes.ReplaceAll(p.Data, []byte(credential), []byte(instead))
	}
	text, err := json.Marshal(r.Structured)
	if err != nil || !bytes.Contains(text, []byte(credential)) {
		return err
	}
	r.Structured = nil
	return json.Unmarshal(bytes.ReplaceAll(text, []byte(credential), []byte(instead)), &r.Structured)
}

// termsOf returns what a task gets: what its caller asks for, within what the operator
// allows. It fills that in.
func termsOf(ctx context.Context, in *input, o *Options) (terms delegation.Terms, err error) {
	asked, err := json.Marshal(sallyport.Task{Tools: in.Tools, Arguments: in.Arguments})
	if err != nil || len(asked) > maxTermsBytes {
		return terms, sallyport.InputInvalid(fmt.Sprintf("tools and arguments have at most %d bytes together", maxTermsBytes))
	}
	if in.MaxCalls == nil || *in.MaxCalls > o.Calls {
		in.MaxCalls = &o.Calls
	}
	if o.CostUSD > 0 && (in.MaxCostUSD == 0 || in.MaxCostUSD > o.CostUSD) {
		in.MaxCostUSD = o.CostUSD
	}
	until := time.Now().Add(defaultTimeout)
	if end, ok := ctx.Deadline(); ok {
		until = end
	}
	if own := time.Now().Add(time.Duration(in.MaxSeconds) * time.Second); in.MaxSeconds > 0 && own.Before(until) {
		until = own
	}
	in.MaxSeconds = int(time.Until(until).Round(time.Second) / time.Second)
	return delegation.Terms{Tools: in.Tools, Arguments: in.Arguments, Calls: *in.MaxCalls, CostUSD: in.MaxCostUSD, Until: until}, nil
}

// channel is the process accessor of a task: the program that it starts talks to the gate
// over its standard input, behind the line that says what it is to do.
type channel struct {
	sallyport.Process
	serve        func(ctx context.Context, d *delegation.Delegation, end io.ReadWriteCloser)
	d            *delegation.Delegation
	began, ended chan struct{}
}

// Spawn implements sallyport.Process.
func (c *channel) Spawn(ctx context.Context, binary string, args []string, o *sallyport.SpawnOptions) (sallyport.ProcessResult, error) {
	own := *o
	own.Stdin = append(own.Stdin[:len(own.Stdin):len(own.Stdin)], '\n')
	own.Channel = func(end io.ReadWriteCloser) {
		close(c.began)
		defer close(c.ended)
		c.serve(c.d.Context(), c.d, end)
	}
	return c.Process.Spawn(ctx, binary, args, &own)
}

// awaitEnd waits until nothing is answered over the channel any more: what the sub-agent
// read counts before its answer does.
func (c *channel) awaitEnd() {
	select {
	case <-c.began:
		<-c.ended
	default:
	}
}
