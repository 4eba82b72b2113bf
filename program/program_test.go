package program_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/program"
	"github.com/sallyport/sallyport/schema"
)

// ownTools is the environment variable that makes the test binary a program
// with the tools of a case.
const ownTools = "SALLYPORT_TEST_OWN_TOOLS"

func TestMain(m *testing.M) {
	if name, ok := os.LookupEnv(ownTools); ok {
		program.Main(toolsOfCase(name)...)
	}
	os.Exit(m.Run())
}

func toolsOfCase(name string) []sallyport.Tool {
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil }
	own := sallyport.Tool{Name: "own_tool", Description: "Does it.", Run: run}
	switch name {
	case "clash":
		own.Name = "read_file"
	case "clash with a tool that needs a connection":
		own.Name = "email-send"
	case "twice":
		return []sallyport.Tool{own, own}
	case "nil":
		return []sallyport.Tool{own, {}}
	case "no Run":
		own.Run = nil
	case "invalid":
		own.Schema = []byte(`{"type":"obejct"}`)
	case "other hosts":
		return []sallyport.Tool{dialingTool("a.example")}
	case "both hosts":
		return []sallyport.Tool{dialingTool("a.example", "b.example")}
	case "of a server":
		own.Name = "mcp__notes__add"
	case "with the label of servers":
		own.Toolset = "mcp"
	}
	return []sallyport.Tool{own}
}

// startProgram runs the program with the tools of a case and returns what it
// writes to standard error, and its exit code.
func startProgram(t *testing.T, name string, args ...string) (stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	config := "version: 1\nstate: memory\npersonalities: {default: {toolset: [own_tool]}}\n"
	if err := os.WriteFile(filepath.Join(dir, "sallyport.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir, cmd.Stderr = dir, &text
	cmd.Env = append(os.Environ(), ownTools+"="+name)
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return text.String(), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), 0
}

func TestToolsThatDoNotFitEndTheProgramAtItsStart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"clash": "read_file: ",
		"clash with a tool that needs a connection": "email-send: ",
		"twice":                     "own_tool: ",
		"nil":                       "tool 2 of 2 has no name",
		"no Run":                    "own_tool: ",
		"invalid":                   "own_tool: schema: ",
		"of a server":               "mcp__notes__add: names that begin with mcp__ are for the tools of MCP servers",
		"with the label of servers": "own_tool: toolset mcp is the label of the tools of MCP servers",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Even a command that opens nothing must not run.
			stderr, code := startProgram(t, name, "--help")
			if code != 2 || !strings.HasPrefix(stderr, "sallyport: this program cannot offer its tools:\n") || !strings.Contains(stderr, want) {
				t.Errorf("exit code %d and %q, want 2 and a text with %q", code, stderr, want)
			}
		})
	}
}

func TestAProgramOffersItsTools(t *testing.T) {
	t.Parallel()
	if stderr, code := startProgram(t, "fits", "call", "own_tool"); code != 0 {
		t.Errorf("exit code %d and %q, want 0", code, stderr)
	}
}

// Ten lines are a whole program: sallyport with one more tool.
func ExampleMain() {
	type input struct {
		Name string `json:"name" jsonschema:"Who is greeted."`
	}
	greet := func(_ context.Context, _ *sallyport.Call, in input) (sallyport.Result, error) {
		return sallyport.OK("good morning, " + in.Name), nil
	}
	program.Main(schema.MustTool(sallyport.Tool{Name: "greet", Description: "Greet a person."}, greet))
}
