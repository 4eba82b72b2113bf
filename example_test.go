package sallyport_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

// The blocks of docs/guides/tools.md stand here line for line; a test of
// internal/house compares them.

type countInput struct {
	Path string `json:"path" jsonschema:"Text file whose words are counted."`
}

// wordCount is a tool: what it is, what it touches, what it does.
func wordCount() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name:        "word_count",
		Description: "Count the words of a text file.",
		Toolset:     "file",
		ReadOnly:    true,
		Capabilities: sallyport.Capabilities{
			FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()},
		},
	}, count)
}

func count(_ context.Context, c *sallyport.Call, in countInput) (sallyport.Result, error) {
	text, err := c.FS.ReadFile(in.Path)
	if err != nil {
		return sallyport.Result{}, err // as it is: its code stays in front
	}
	words := len(strings.Fields(string(text)))
	r := sallyport.OK(fmt.Sprint(words, " words"))
	r.Structured = map[string]any{"words": words}
	return r, nil
}

// roles finds personalities by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// run registers the tool under a personality that reads one folder, and calls
// it twice.
func run(ctx context.Context, workspace string) error {
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{"reader": {Name: "reader", FSReach: &sallyport.Reach{Read: []string{workspace}}}},
		Files:         &sallyport.FileBackend{},
	}, &registry.Options{Workspace: workspace})
	if err != nil {
		return err
	}
	if err := r.Register(wordCount()); err != nil {
		return err
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: "reader"}
	for _, args := range []string{`{"path":"notes.txt"}`, `{"path":"/etc/hostname"}`} {
		res := r.Call(ctx, caller, sallyport.Request{Tool: "word_count", Args: []byte(args)})
		if err := res.Err(); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Value, res.Structured)
	}
	return r.Close(ctx)
}

// A tool declares what it touches; the personality bounds it; the gate gives
// the tool accessors for what both agree on.
func Example() {
	workspace, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(workspace)
	if err := os.WriteFile(filepath.Join(workspace, "notes.txt"), []byte("to be or not to be\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), workspace); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 6 words map[words:6]
	// PATH_NOT_REACHABLE: read not permitted for /etc/hostname
}

// A sentinel matches a refusal, the parts of the refusal are fields, and a
// missing file is no refusal.
func ExampleError() {
	err := fmt.Errorf("loading: %w", sallyport.PathError("read", "/etc/hostname"))
	fmt.Println(errors.Is(err, sallyport.ErrPathNotReachable), errors.Is(err, fs.ErrNotExist))
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		fmt.Println(e.Code, e.Operation, e.Resource)
	}
	fmt.Println(errors.Is(sallyport.FileNotFound("a.txt"), fs.ErrNotExist))
	// Output:
	// true false
	// PATH_NOT_REACHABLE read /etc/hostname
	// true
}

// The word from-personality defers a list to the operator.
func ExamplePathList() {
	for _, l := range []sallyport.PathList{sallyport.FromPersonality(), sallyport.Paths("${workspace}/docs")} {
		text, err := l.MarshalJSON()
		fmt.Println(string(text), err)
	}
	// Output:
	// "from-personality" <nil>
	// ["${workspace}/docs"] <nil>
}

// choose asks the person behind the caller which of two to keep.
func choose(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
	answers, err := c.Input.Ask(ctx, sallyport.Question{
		Name: "keep", Kind: sallyport.InputPerson, Message: "Both files were changed. Which one do you keep?",
		Schema: json.RawMessage(`{"type":"object","properties":{"file":{"type":"string","enum":["mine","theirs"]}},"required":["file"]}`),
	})
	if err != nil {
		return sallyport.Result{}, err // no person can be asked, or none answered
	}
	if answers[0].Action != sallyport.ActionAccept {
		return sallyport.OK("nothing was changed"), nil
	}
	return sallyport.OK(fmt.Sprint("kept ", answers[0].Values["file"])), nil
}

// person is a sallyport.Input that always gives the same answer. The gateway
// implements one for the clients of MCP.
type person sallyport.Answer

func (p person) Can(kind sallyport.InputKind) bool { return kind == sallyport.InputPerson }

func (p person) Ask(context.Context, ...sallyport.Question) ([]sallyport.Answer, error) {
	return []sallyport.Answer{sallyport.Answer(p)}, nil
}

// A tool asks while it runs. The answer is checked against the form; without a
// way to ask, the question fails.
func ExampleInput() {
	r, err := registry.New(nil, nil)
	if err != nil {
		log.Fatal(err)
	}
	tool := sallyport.Tool{
		Name: "merge", Description: "Merges two files.", Run: choose,
		Capabilities: sallyport.Capabilities{Input: []sallyport.InputKind{sallyport.InputPerson}},
	}
	if err := r.Register(tool); err != nil {
		log.Fatal(err)
	}
	for _, way := range []sallyport.Input{
		person{Action: sallyport.ActionAccept, Values: map[string]any{"file": "theirs"}},
		person{Action: sallyport.ActionAccept, Values: map[string]any{"file": "both"}},
		person{Action: sallyport.ActionDecline},
		nil,
	} {
		caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Input: way}
		res := r.Call(context.Background(), caller, sallyport.Request{Tool: "merge"})
		fmt.Println(res.Value + res.Error)
	}
	if err := r.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// kept theirs
	// the answer to keep does not fit its form: /file: must be one of "mine", "theirs"
	// nothing was changed
	// the tool asks for input of kind person, which this caller cannot be asked for; call it from an MCP client that can
}
