package action_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
)

// askedDatabases answers every query with itself, and remembers it.
type askedDatabases struct {
	mu    sync.Mutex
	asked []string
}

func (d *askedDatabases) Query(ctx context.Context, connection string, mode sallyport.AccessMode, query string, args []any) (sallyport.Table, error) {
	d.mu.Lock()
	d.asked = append(d.asked, fmt.Sprintf("%s %s %s %v", connection, mode, query, args))
	d.mu.Unlock()
	switch query {
	case "panic":
		panic("canary of the backend")
	case "hang":
		<-ctx.Done()
		return sallyport.Table{}, ctx.Err()
	case "refuse":
		return sallyport.Table{}, &sallyport.Error{Code: sallyport.CodeInputInvalid, Detail: "this connection only reads"}
	}
	return sallyport.Table{Columns: []string{"q", "n"}, Rows: [][]any{{query, int64(9007199254740993)}}, More: true}, nil
}

func (d *askedDatabases) list() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.asked, "\n")
}

// askingGate is a gate whose tool "act" runs a program with databases.
func askingGate(t *testing.T, script, databases string) (*gate, *askedDatabases) {
	t.Helper()
	needs.Programs(t, "python3")
	dir := handlers(t, map[string]string{"ask.py": script})
	tool := scripted(t, dir, `{"id": "act", "timeout": "60s", "capabilities": {"database": `+databases+`}, "parameters": {"q": {"type": "string"}}, "handler": "./ask.py"}`)
	runner, err := sandbox.New(&sandbox.Options{Warm: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runner.Close() })
	g, d := &gate{t: t, record: &trail{}}, &askedDatabases{}
	g.Registry, err = registry.New(&sallyport.Backends{
		Personalities: roles{"agent": {Name: "agent"}}, Process: runner, Files: &sallyport.FileBackend{}, Databases: d,
	}, &registry.Options{Recorder: g.record})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close(context.Background()) })
	if err := g.Register(tool); err != nil {
		t.Fatal(err)
	}
	return g, d
}

// askingHandler asks what the caller says, a line each, and prints the context and the
// answers.
const askingHandler = `import json, socket
gate = socket.socket(fileno=0).makefile("rw", encoding="utf-8")
start = json.loads(gate.readline())
answers = []
for line in start["params"]["q"].split("\n"):
    print(line, file=gate, flush=True)
    answers.append(json.loads(gate.readline()))
print(json.dumps({"databases": start["context"]["databases"], "answers": answers}))
`

// One question after many to another connection is in the record, too.
func TestNoQuestionHidesTheUseOfAConnection(t *testing.T) {
	t.Parallel()
	g, d := askingGate(t, askingHandler, `{"connections": ["shop", "payroll"], "mode": "write"}`)
	lines := strings.Repeat(`{"database": "shop", "query": "q"}`+"\n", 100) + `{"database": "payroll", "query": "delete"}` + "\n" + `{"database": "other", "query": "q"}`
	args, err := json.Marshal(map[string]string{"q": lines})
	if err != nil {
		t.Fatal(err)
	}
	if res := g.use(string(args)); !res.OK || !strings.Contains(d.list(), "payroll write delete") {
		t.Fatalf("act = %+v", res)
	}
	record := g.record.text.String()
	for _, want := range []string{"write on shop", "write on payroll", "other is outside the grant"} {
		if n := strings.Count(record, want); n != 1 {
			t.Errorf("the record of the call has %q %d times, want once", want, n)
		}
	}
}

func TestAProgramAsksTheDatabasesOfItsDeclaration(t *testing.T) {
	t.Parallel()
	g, d := askingGate(t, askingHandler, `{"connections": ["shop", "stock"]}`)
	lines := []string{
		`{"database": "shop", "query": "select ?", "args": [1.50, "x", null]}`,
		`{"database": "stock", "query": "refuse"}`,
		`{"database": "payroll", "query": "select 1"}`,
		`{"database": "shop", "query": "select 1", "mode": "write"}`,
		`{"database": "shop", "query": " "}`,
		`not JSON`,
		`["shop"]`,
	}
	args, err := json.Marshal(map[string]string{"q": strings.Join(lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	res := g.use(string(args))
	if !res.OK {
		t.Fatalf("act = %+v", res)
	}
	read := func(name string) any { return map[string]any{"name": name, "mode": "read"} }
	if diff := cmp.Diff([]any{read("shop"), read("stock")}, res.Structured["databases"]); diff != "" {
		t.Errorf("context.databases (-want +got):\n%s", diff)
	}
	answers, _ := res.Structured["answers"].([]any)
	if len(answers) != len(lines) {
		t.Fatalf("%d answers, want %d: %v", len(answers), len(lines), answers)
	}
	text := fmt.Sprint(answers[0])
	if !strings.Contains(text, "rows:[[select ?") || !strings.Contains(text, "truncated:true") {
		t.Errorf("the first answer is %s, want the row", text)
	}
	for i, want := range []string{
		"this connection only reads", "connection payroll is not in the declared connections", `expected {"database"`,
		"one statement of at most 100000 characters", "one JSON object on one line", `expected {"database"`,
	} {
		if text := fmt.Sprint(answers[i+1]); !strings.Contains(text, want) || strings.Contains(text, "rows:") {
			t.Errorf("answer %d is %s, want %q", i+1, text, want)
		}
	}
	// The engine was asked what the grant allows, for reading, and nothing else.
	if got, want := d.list(), "shop read select ? [1.50 x <nil>]\nstock read refuse []"; got != want {
		t.Errorf("asked:\n%s\nwant:\n%s", got, want)
	}
	record := g.record.text.String()
	for _, want := range []string{"read on shop", "payroll"} {
		if !strings.Contains(record, want) {
			t.Errorf("the record lacks %q:\n%s", want, record)
		}
	}
}

func TestAProgramWritesOnlyWhereThatIsDeclared(t *testing.T) {
	t.Parallel()
	g, d := askingGate(t, askingHandler, `{"connections": ["shop"], "mode": "write"}`)
	res := g.use(`{"q": "{\"database\": \"shop\", \"query\": \"delete\"}"}`)
	if !res.OK || d.list() != "shop write delete []" {
		t.Errorf("act = %+v, asked %q, want one statement for writing", res, d.list())
	}
}

// A program that asks too much, or too often, or does not wait, ends the conversation and
// not the gate.
func TestProgramsThatAskBadly(t *testing.T) {
	t.Parallel()
	const open = "import json, os, socket\ns = socket.socket(fileno=0)\ngate = s.makefile('rw', encoding='utf-8')\ngate.readline()\n"
	for name, tt := range map[string]struct{ script, want string }{
		"a long line": {open + "print('{\"database\": \"shop\", \"query\": \"' + 'x' * (2 << 20), file=gate, flush=True)", ""},
		"too often": {open + "for i in range(1001):\n    print('{\"database\": \"shop\", \"query\": \"select\"}', file=gate, flush=True)\n    last = gate.readline()\n" +
			"print(last)", "a program asks at most 1000 times in a call"},
		"does not wait":  {open + "print('{\"database\": \"shop\", \"query\": \"hang\"}', file=gate, flush=True)\nprint('\"gone\"')", "gone"},
		"closes its end": {open + "gate.close(); s.close()\nprint('\"closed\"')", "closed"},
		"a panic":        {open + "print('{\"database\": \"shop\", \"query\": \"panic\"}', file=gate, flush=True)\nprint(json.dumps(gate.readline()))", ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, d := askingGate(t, tt.script, `{"connections": ["shop"]}`)
			res := g.use(`{}`)
			if text := res.Value + res.Error; !strings.Contains(text, tt.want) || strings.Contains(text, "canary") {
				t.Errorf("act = %+v, want %q", res, tt.want)
			}
			if tt.want == "" && res.OK {
				t.Errorf("act = %+v, want a failure", res)
			}
			if n := strings.Count(d.list(), "shop read select"); n > 1000 {
				t.Errorf("%d queries ran, want 1000 at most", n)
			}
		})
	}
}

// TestTheHandlerOfThePageAsks runs the program that the page shows.
func TestTheHandlerOfThePageAsks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "guides", "actions.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if m == nil {
		t.Fatal("the page shows no program")
	}
	g, d := askingGate(t, string(m[1]), `{"connections": ["shop"]}`)
	res := g.use(`{"q": "ann"}`)
	if !res.OK || !strings.Contains(d.list(), "shop read SELECT") || !strings.Contains(d.list(), "[ann]") || !strings.Contains(res.Value, "9007199254740993") {
		t.Errorf("act = %+v, asked %q", res, d.list())
	}
}
