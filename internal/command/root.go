package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/granting"
	"github.com/sallyport/sallyport/internal/app/safekeeping"
	"github.com/sallyport/sallyport/internal/report"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/internal/yamldoc"
)

// Exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1 // the tool answered ok:false, or a check failed
	exitUsage  = 2 // usage or configuration
)

// environment holds the inputs and outputs of a command, so that tests can
// replace them.
type environment struct {
	app.Environment
	stdin  io.ReadCloser
	stdout io.WriteCloser
	// colour and errorColour are true when stdout and Stderr are terminals that show
	// colours.
	colour, errorColour bool
	// terminal is true when a user sees the questions and can answer them.
	terminal bool
}

// systemEnvironment returns the environment of the process.
func systemEnvironment() *environment {
	e := &environment{
		Environment: app.Environment{Stderr: os.Stderr, Lookup: os.LookupEnv, Pairs: os.Environ, HintGrant: granting.Hint},
		stdin:       os.Stdin, stdout: os.Stdout,
	}
	// A working or home directory that cannot be found stays empty. The code
	// that needs it reports the error.
	e.Dir, _ = os.Getwd()
	e.Home, _ = os.UserHomeDir()
	if term.IsTerminal(int(os.Stderr.Fd())) {
		e.Ask = safekeeping.AskTerminal
	}
	e.colour = report.ShowsColour(term.IsTerminal(int(os.Stdout.Fd())), os.LookupEnv)
	e.errorColour = report.ShowsColour(term.IsTerminal(int(os.Stderr.Fd())), os.LookupEnv)
	e.terminal = term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
	return e
}

// exitError is an error with an exit code. A silent one prints nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// failUnless ends a command whose answer is already on stdout: it fails unless
// the answer is good.
func failUnless(good bool) error {
	if good {
		return nil
	}
	return &exitError{code: exitFailed}
}

// usageError ends a command that cannot start.
func usageError(err error) error { return &exitError{code: exitUsage, err: err} }

// flags holds the flags that all commands share.
type flags struct {
	config []string
	json   bool
}

// answerWriter is standard output. It remembers the first write that failed, so that a
// command whose answer was lost does not report success. It is safe for
// concurrent use.
type answerWriter struct {
	io.WriteCloser
	mu  sync.Mutex
	err error
}

// Write writes to standard output and remembers a failure.
func (r *answerWriter) Write(text []byte) (int, error) {
	n, err := r.WriteCloser.Write(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	return n, err
}

// writeError returns the error of the first failed write. A reader that has closed
// its end wants no more, which is no failure; neither is a notice that came when
// the program itself had closed its output, after the last answer.
func (r *answerWriter) writeError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, none := range []error{nil, syscall.EPIPE, io.ErrClosedPipe, os.ErrClosed} {
		if errors.Is(r.err, none) {
			return nil
		}
	}
	return fmt.Errorf("the answer could not be written: %w", r.err)
}

// runCommand executes one command line and returns its exit code.
func runCommand(ctx context.Context, args []string, env *environment) int {
	out, own := &answerWriter{WriteCloser: env.stdout}, *env
	own.stdout, own.Repeat = out, own.ProgramName()
	for _, arg := range args {
		own.Repeat += " " + text.ShellWord(arg)
	}
	cmd := newCommand(&own)
	cmd.SetArgs(args)
	ran, err := cmd.ExecuteContextC(ctx)
	if lost := out.writeError(); lost != nil {
		err = usageError(lost)
	}
	if err == nil {
		return exitDone
	}
	code, said := exitUsage, err.Error()
	if e, ok := errors.AsType[*exitError](err); ok {
		code, said = e.code, e.Error()
	} else {
		said += fmt.Sprintf("\n\nRun '%s --help' for what it takes and examples.", ran.CommandPath())
	}
	if said = strings.TrimRight(said, "\n"); said != "" {
		p := report.Printer{W: env.Stderr, JSON: wantsJSON(ran, args), Colour: env.errorColour}
		p.PrintError(said, code)
	}
	return code
}

// wantsJSON reports whether a command line asks for JSON, also one that does not
// parse.
func wantsJSON(ran *cobra.Command, args []string) bool {
	if flag := ran.Flags().Lookup("json"); flag != nil && flag.Changed {
		return flag.Value.String() == "true"
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// newCommand builds the complete command tree. There are no package variables:
// each test builds its own tree.
func newCommand(env *environment) *cobra.Command {
	f := &flags{}
	root := &cobra.Command{
		Use:   "sallyport",
		Short: "Decide, confine and record the tool calls of agents",
		Long: `Sallyport is the gate between an agent and its tools. A tool declares what it
needs. An operator sets what a role may use at most. A call gets only what both
allow, and every call is recorded.`,
		Example: `  sallyport init
  sallyport serve
  sallyport call read_file '{"path":"README.md"}'
  sallyport explain read_file --path /etc/passwd`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       app.ReadBuild().String(),
	}
	root.SetIn(env.stdin)
	root.SetOut(env.stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().StringArrayVar(&f.config, "config", nil,
		"configuration `FILE`; may be repeated (default: $SALLYPORT_CONFIG, or ./sallyport.yaml)")
	root.PersistentFlags().BoolVar(&f.json, "json", false, "print JSON")
	root.AddCommand(
		initCommand(env, f), serveCommand(env, f), connectCommand(env, f),
		callCommand(env, f), batchCommand(env, f), toolsCommand(env, f),
		checkCommand(env, f), schemaCommand(env), doctorCommand(env, f), explainCommand(env, f), replayCommand(env, f), suggestCommand(env, f), shadowCommand(env, f), observeCommand(env, f), auditCommand(env, f),
		principalsCommand(env, f), pageCommand(env, f), reachCommand(env, f), importCommand(env, f),
		approvalsCommand(env, f), knownCommand(env, f), pendingCommand(env, f), lockCommand(env, f), diffCommand(env, f), approveCommand(),
		grantCommand(env, f, false), grantCommand(env, f, true), promoteCommand(env, f),
		secretsCommand(env, f), loginCommand(env, f), logoutCommand(env, f), backupCommand(env, f), restoreCommand(env, f), versionCommand(env, f),
	)
	completeNames(root, env, f)
	root.SetHelpCommand(helpCommand(root))
	explainUsage(root)
	return root
}

// groupCommand answers for a command that only groups others. An unknown name
// must not count as success, as in "audit verfy && deploy".
func groupCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	if near := yamldoc.Suggest(args[0], known); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return usageError(errors.New(text))
}
