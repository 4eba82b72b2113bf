// Package terminal holds the tools that run programs: commands, code, tests,
// linters and background processes. [New] returns a [Family], whose Tools are
// for a registry.
//
// Every tool starts children through the process accessor of its call and
// nothing else: which binary, folder, host and file a child may touch is
// decided and enforced behind that accessor. The tools add what an agent needs
// on top: a shell, output that is bounded without losing its end, the command
// that a project uses for its tests, and processes that outlive a call.
//
// The package does not look at what a command says: it is no guard against a
// harmful one. It finds no binary itself and starts nothing outside the
// accessor.
package terminal

import (
	"fmt"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
)

const (
	// toolset is the label of the tools.
	toolset = "terminal"
	// resultChars bounds a value in code points: about five thousand tokens,
	// enough for the report of a failing test run.
	resultChars = 20_000
	// defaultTimeout is for commands that ought to be short; maxTimeout is
	// what the tools accept. An agent that needs longer starts a background
	// process.
	defaultTimeout = 30 * time.Second
	maxTimeout     = 10 * time.Minute
	// callTimeout lets the child's own timeout come first, so that its output
	// is still reported.
	callTimeout = maxTimeout + 30*time.Second
	// taskAfter is how long a caller waits before a call becomes a task: most
	// commands are over by then.
	taskAfter = 2 * time.Second
	// maxCommandChars bounds a command in code points. The kernel takes 128
	// KiB in one argument.
	maxCommandChars = 32_000
)

// Options configure a [Family]. nil means the defaults.
type Options struct {
	// Tests, Lint and Typecheck are what run_tests, lint and typecheck start
	// instead of what the project's files say: a binary name and its
	// arguments. nil means that the project's files decide.
	Tests, Lint, Typecheck []string
	// Writes is how what commands write reaches the disk; empty means
	// direct. With an overlay a command's changes are listed, and terminal
	// can show them without making them.
	Writes sallyport.FSMode
}

// Family is the tools of the package with the background processes that they
// started. It is safe for concurrent use.
type Family struct {
	o     Options
	table *processTable
}

// New returns a family without processes. The error names an option that
// cannot be used. The caller closes it after the last call.
func New(o *Options) (*Family, error) {
	f := &Family{table: newProcessTable()}
	if o == nil {
		return f, nil
	}
	for name, argv := range map[string][]string{"Tests": o.Tests, "Lint": o.Lint, "Typecheck": o.Typecheck} {
		if argv != nil && (len(argv) == 0 || argv[0] == "") {
			return nil, fmt.Errorf("terminal: %s names no binary", name)
		}
	}
	switch o.Writes {
	case "", sallyport.FSDirect, sallyport.FSOverlay:
	default:
		return nil, fmt.Errorf("terminal: Writes %q is neither direct nor overlay", o.Writes)
	}
	f.o = Options{
		Tests: slices.Clone(o.Tests), Lint: slices.Clone(o.Lint), Typecheck: slices.Clone(o.Typecheck), Writes: o.Writes,
	}
	return f, nil
}

// Tools returns terminal, run_code, run_tests, lint, typecheck, process_start,
// process_output, process_stop and process_list. The caller owns the slice;
// the tools may be used by many calls at once.
func (f *Family) Tools() []sallyport.Tool {
	return []sallyport.Tool{
		f.commandTool(), f.codeTool(),
		f.checkTool(checkTests), f.checkTool(checkLint), f.checkTool(checkTypes),
		f.startTool(), f.outputTool(), f.stopTool(), f.listTool(),
	}
}

// Close ends every background process and waits until it is gone. No process
// can be started afterwards. Closing twice is safe; the error is always nil.
func (f *Family) Close() error {
	f.table.close()
	return nil
}

// processCapabilities returns the declaration of a tool that starts binaries in
// what the personality lets it reach. "*" is whatever hosts the personality
// allows, and nothing without a network block.
func (f *Family) processCapabilities(network bool, binaries ...string) sallyport.Capabilities {
	caps := sallyport.Capabilities{
		FSReach: &sallyport.FSCapability{
			Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality(), Mode: f.o.Writes,
		},
		Process: &sallyport.ProcessCapability{AllowedBinaries: binaries},
	}
	if network {
		caps.Network = &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}
	}
	return caps
}

// detachWhenLong makes a call that runs for long a task, where its caller knows
// tasks: what is over soon is worth waiting for. Call over when the run ends.
func detachWhenLong(c *sallyport.Call) (over func()) {
	timer := time.AfterFunc(taskAfter, c.Detach)
	return func() { timer.Stop() }
}

// timeoutOf turns an argument in seconds into a duration; 0 means otherwise.
func timeoutOf(seconds int, otherwise time.Duration) time.Duration {
	if seconds == 0 {
		return otherwise
	}
	return time.Duration(seconds) * time.Second
}

// childEnvironment returns what every child gets beside the minimal
// environment: it has no terminal, so colours and cursor movements would be
// noise. NO_COLOR is https://no-color.org.
func childEnvironment() map[string]string {
	return map[string]string{"TERM": "dumb", "NO_COLOR": "1"}
}
