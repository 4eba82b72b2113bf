package terminal

import (
	"context"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

// maxCodeChars bounds a program in code points. A longer one belongs in a
// file.
const maxCodeChars = 200_000

// The languages of run_code.
const (
	languagePython = "python"
	languageNode   = "node"
	languageBash   = "bash"
)

type codeInput struct {
	Language string `json:"language" jsonschema:"Interpreter that runs the code."`
	Code     string `json:"code" jsonschema:"The program. It is given on standard input, so it cannot read any itself."`
	Cwd      string `json:"cwd,omitempty" jsonschema:"Folder to run it in: absolute, or relative to the workspace. Default: the workspace."`
	Timeout  int    `json:"timeout_seconds,omitempty" jsonschema:"Seconds after which the program is ended. Default 30."`
}

func (f *Family) codeTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "run_code", Title: "Run code", Toolset: toolset,
		Description: "Run a short program inside the sandbox and wait for it. Answers with the exit code and what it printed, standard " +
			"error included.",
		Schema: args.Schema[codeInput](func(get func(string) args.Property) {
			get("language").OneOf(languagePython, languageNode, languageBash)
			get("code").Length(1, maxCodeChars)
			get("timeout_seconds").Between(0, int(maxTimeout.Seconds()))
		}),
		Capabilities: f.processCapabilities(true, "bash", "node", "python3"), MaxResultChars: resultChars, Timeout: callTimeout, Tasks: sallyport.TaskOptional,
		OutputIsUntrusted: true,
	}, f.runCode)
}

// interpreters are the commands that read a program from standard input, by
// language. The program is no argument: arguments are bounded and seen by every
// process of the machine.
var interpreters = map[string][]string{
	languagePython: {"python3", "-"},
	languageNode:   {"node", "-"},
	languageBash:   {"bash", "-s"},
}

func (f *Family) runCode(ctx context.Context, c *sallyport.Call, in codeInput) (sallyport.Result, error) {
	argv := interpreters[in.Language]
	if argv == nil {
		return sallyport.Result{}, sallyport.InputInvalid("language is not one of python, node, bash")
	}
	o, r := f.newRun(c, in.Cwd, timeoutOf(in.Timeout, defaultTimeout))
	o.Stdin, r.source = []byte(in.Code), "cmd:"+strings.Join(argv, " ")
	defer detachWhenLong(c)()
	defer r.tellWhile()()
	return r.newResult(c.Process.Spawn(ctx, argv[0], argv[1:], o))
}
