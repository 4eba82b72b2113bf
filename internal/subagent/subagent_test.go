package subagent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/subagent"
	"github.com/sallyport/sallyport/schema"
)

// program is a process accessor whose program is a function.
type program func(ctx context.Context, line string, end io.ReadWriteCloser) (sallyport.ProcessResult, error)

func (p program) Spawn(ctx context.Context, _ string, _ []string, o *sallyport.SpawnOptions) (sallyport.ProcessResult, error) {
	ours, theirs := net.Pipe()
	defer ours.Close()
	go o.Channel(ours)
	return p(ctx, string(o.Stdin), theirs)
}

func (program) Start(context.Context, string, []string, *sallyport.SpawnOptions) (sallyport.Child, error) {
	return nil, errors.New("a task waits for its program")
}

// spawning is a runner that starts a program.
func spawning() sallyport.Tool {
	return sallyport.Tool{Name: "task", Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		res, err := c.Process.Spawn(ctx, "agent", nil, &sallyport.SpawnOptions{Stdin: c.Args})
		return sallyport.OK(string(res.Stdout)), err
	}}
}

func call(t *testing.T, tool sallyport.Tool, p program, args string) (sallyport.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := schema.Compile(tool.Schema)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := s.Arguments(json.RawMessage(args))
	if err != nil {
		return sallyport.Result{}, err
	}
	return tool.Run(ctx, &sallyport.Call{ID: "parent", Principal: sallyport.Principal{Name: "ann"}, Session: "s", Personality: "role", Args: doc.JSON, Process: p})
}

// The program gets what it may use, which is what was asked for within what the operator
// allows, and no credential. Its channel is served for its delegation alone.
func TestAProgramGetsItsTerms(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	var served *delegation.Delegation
	tool := subagent.Tool(spawning(), subagent.Options{Book: b, Calls: 20, CostUSD: 1, Serve: func(ctx context.Context, d *delegation.Delegation, end io.ReadWriteCloser) {
		served = d
		_, _ = io.Copy(io.Discard, end)
	}})
	for _, c := range []struct {
		args  string
		calls int
		cost  float64
	}{
		{`{"prompt":"p"}`, 20, 1},
		{`{"prompt":"p","max_calls":1000,"max_cost_usd":50}`, 20, 1},
		{`{"prompt":"p","max_calls":0,"max_cost_usd":0.25,"max_seconds":5,"tools":["a"],"arguments":{"a":{"n":{"maximum":1}}}}`, 0, 0.25},
	} {
		var line string
		r, err := call(t, tool, func(_ context.Context, in string, end io.ReadWriteCloser) (sallyport.ProcessResult, error) {
			line = in
			if _, err := io.WriteString(end, "anything\n"); err != nil {
				t.Error(err)
			}
			if b.Find("parent") == nil {
				t.Error("the task runs without a delegation")
			}
			return sallyport.ProcessResult{Stdout: []byte("done")}, end.Close()
		}, c.args)
		if err != nil || !r.OK || r.Value != "done" || !r.Untrusted {
			t.Fatalf("%s = %+v, %v, want an untrusted result", c.args, r, err)
		}
		var got struct {
			Prompt     string
			MaxCalls   int     `json:"max_calls"`
			MaxCostUSD float64 `json:"max_cost_usd"`
			MaxSeconds int     `json:"max_seconds"`
			Credential string
		}
		if err := json.Unmarshal([]byte(line), &got); err != nil || !strings.HasSuffix(line, "}\n") || strings.Count(line, "\n") != 1 {
			t.Fatalf("the program read %q, %v, want one line", line, err)
		}
		if got.MaxCalls != c.calls || got.MaxCostUSD != c.cost || got.Prompt != "p" || got.Credential != "" || got.MaxSeconds < 1 || got.MaxSeconds > 60 {
			t.Errorf("%s: the program got %s", c.args, line)
		}
		if served == nil || served.Terms.Calls != c.calls || served.Terms.CostUSD != c.cost {
			t.Errorf("%s: the channel was served under %+v", c.args, served)
		}
		if b.Find("parent") != nil {
			t.Error("the delegation outlives its task")
		}
	}
}

// A service gets a credential for the time of its task, which does not come back in what
// it answers.
func TestAServiceGetsACredential(t *testing.T) {
	t.Parallel()
	b := delegation.NewBook()
	var credential string
	tool := subagent.Tool(sallyport.Tool{Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var in struct{ Credential string }
		if err := json.Unmarshal(c.Args, &in); err != nil {
			t.Error(err)
		}
		if credential = in.Credential; b.Verify(credential, time.Now()) == nil {
			t.Errorf("the credential %q does not count", credential)
		}
		r := sallyport.OK("you gave me " + credential)
		r.Structured = map[string]any{"said": []any{credential}}
		return r, nil
	}}, subagent.Options{Book: b, Calls: 1, Remote: true})
	r, err := call(t, tool, nil, `{"prompt":"p"}`)
	if err != nil || r.Value != "you gave me [credential]" || fmt.Sprint(r.Structured) != "map[said:[[credential]]]" {
		t.Errorf("= %+v, %v", r, err)
	}
	if b.Verify(credential, time.Now()) != nil {
		t.Error("the credential counts after the end of its task")
	}
}

// What a service says of its credential in an error, in progress or in parts stays here, too.
func TestACredentialIsNotRepeated(t *testing.T) {
	t.Parallel()
	var credential, told string
	fails := false
	tool := subagent.Tool(sallyport.Tool{Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
		var in struct{ Credential string }
		if err := json.Unmarshal(c.Args, &in); err != nil {
			t.Error(err)
		}
		credential = in.Credential
		c.Emit(sallyport.Progress{Message: "with " + credential})
		if fails {
			return sallyport.Result{Error: credential}, &sallyport.Error{Code: sallyport.CodeExecutionFailed, Detail: "no " + credential, Err: errors.New(credential)}
		}
		r := sallyport.OK("")
		r.Parts = []sallyport.Part{{Kind: sallyport.PartResource, URI: "a:" + credential, Text: credential, Data: []byte(credential)}}
		return r, nil
	}}, subagent.Options{Book: delegation.NewBook(), Calls: 1, Remote: true})
	for _, fails = range []bool{false, true} {
		r, err := tool.Run(t.Context(), &sallyport.Call{
			ID: "parent", Principal: sallyport.Principal{Name: "ann"}, Args: json.RawMessage(`{"prompt":"p"}`), Emit: func(p sallyport.Progress) { told = p.Message },
		})
		if said := fmt.Sprintf("%+v %v %s", r, err, told); credential == "" || strings.Contains(said, credential) || (err != nil) != fails {
			t.Errorf("it says %s", said)
		}
		for _, p := range r.Parts {
			if strings.Contains(string(p.Data), credential) || string(p.Data) != "[credential]" {
				t.Errorf("a part has %s", p.Data)
			}
		}
	}
}

func TestBadArgumentsStartNothing(t *testing.T) {
	t.Parallel()
	tool := subagent.Tool(sallyport.Tool{Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		t.Error("the runner ran")
		return sallyport.Result{}, nil
	}}, subagent.Options{Book: delegation.NewBook(), Calls: 1})
	for _, args := range []string{
		`{}`, `{"prompt":""}`, `{"prompt":1}`, `{"prompt":"p","tools":[""]}`, `{"prompt":"p","tools":"*"}`, `{"prompt":"p","max_calls":-1}`,
		`{"prompt":"p","max_cost_usd":0}`, `{"prompt":"p","max_seconds":0}`, `{"prompt":"p","personality":"root"}`, `{"prompt":"p","credential":"x"}`,
		`{"prompt":"` + strings.Repeat("p", 32_001) + `"}`, `{"prompt":"p","arguments":{"a":{"b":"` + strings.Repeat("x", 17<<10) + `"}}}`,
	} {
		if r, err := call(t, tool, nil, args); err == nil {
			t.Errorf("%.60s = %+v, want an error", args, r)
		}
	}
}

// A task that cannot hold starts nothing, and its caller reads why.
func TestATaskThatCannotHoldStartsNothing(t *testing.T) {
	t.Parallel()
	var asked *sallyport.Task
	tool := subagent.Tool(sallyport.Tool{Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
		t.Error("the runner ran")
		return sallyport.Result{}, nil
	}}, subagent.Options{Book: delegation.NewBook(), Calls: 1, Check: func(caller *sallyport.Caller, task *sallyport.Task) error {
		if asked = task; caller.Personality != "role" || caller.Principal.Name != "ann" {
			t.Errorf("the task of %+v is judged", caller)
		}
		return sallyport.InputInvalid("no such tool")
	}})
	if r, err := call(t, tool, nil, `{"prompt":"p","tools":["x"],"arguments":{"x":{}}}`); !errors.Is(err, sallyport.ErrInputInvalid) || len(asked.Tools) != 1 || len(asked.Arguments) != 1 {
		t.Errorf("= %+v, %v, want it refused", r, err)
	}
}
