package terminal

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
)

type commandInput struct {
	Command string `json:"command" jsonschema:"Command line for bash, or for sh where bash is missing. Standard input is closed."`
	Cwd     string `json:"cwd,omitempty" jsonschema:"Folder to run it in: absolute, or relative to the workspace. Default: the workspace."`
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"Seconds after which the command and everything it started is ended. Default 30."`
	Preview bool   `json:"preview,omitempty" jsonschema:"Show what the command would change and throw the changes away. Only where writes go to an overlay."`
}

func (f *Family) commandTool() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{
		Name: "terminal", Title: "Terminal", Toolset: toolset,
		Description: "Run a shell command inside the sandbox and wait for it. Answers with the exit code and the output, standard error " +
			"included; of a long output the middle is left out and the whole is kept in a file. A non-zero exit code is no failure of " +
			"the tool. Each call is a new shell. For servers and watchers use process_start.",
		Schema: args.Schema[commandInput](func(get func(string) args.Property) {
			get("command").Length(1, maxCommandChars)
			get("timeout_seconds").Between(0, int(maxTimeout.Seconds()))
		}),
		Capabilities: f.processCapabilities(true, shellNames()...), MaxResultChars: resultChars, Timeout: callTimeout, Tasks: sallyport.TaskOptional, OutputIsUntrusted: true,
	}, f.runCommand)
}

// shellNames lists the shells in the order in which they are tried.
func shellNames() []string { return []string{"bash", "sh"} }

func (f *Family) runCommand(ctx context.Context, c *sallyport.Call, in commandInput) (sallyport.Result, error) {
	if strings.TrimSpace(in.Command) == "" {
		return sallyport.Result{}, sallyport.InputInvalid("the command is empty")
	}
	o, r := f.newRun(c, in.Cwd, timeoutOf(in.Timeout, defaultTimeout))
	o.Discard, r.discard, r.source = in.Preview, in.Preview, "cmd:"+in.Command
	defer detachWhenLong(c)()
	defer r.tellWhile()()
	return r.newResult(startFirstOf(shellNames(), func(shell string) (sallyport.ProcessResult, error) {
		return c.Process.Spawn(ctx, shell, shellArgs(in.Command), o)
	}))
}

// newRun returns the options of a child in a folder and the report on it.
func (f *Family) newRun(c *sallyport.Call, cwd string, timeout time.Duration) (*sallyport.SpawnOptions, *childReport) {
	out := &outputCapture{}
	return &sallyport.SpawnOptions{Dir: cwd, Env: childEnvironment(), Timeout: timeout, Output: out},
		&childReport{call: c, cwd: cwd, timeout: timeout, out: out, overlay: f.o.Writes == sallyport.FSOverlay}
}

// shellArgs is how a shell is given a command line. Without the "--" a shell
// would take a command that begins with a hyphen for its own option.
func shellArgs(command string) []string { return []string{"-c", "--", command} }

// startFirstOf tries commands until one is not refused. A missing binary is
// refused like one outside the grant: the accessor finds binaries, not us.
func startFirstOf[C, T any](commands []C, start func(C) (T, error)) (got T, err error) {
	for _, c := range commands {
		if got, err = start(c); !errors.Is(err, sallyport.ErrBinaryNotAllowed) {
			break
		}
	}
	return got, err
}
