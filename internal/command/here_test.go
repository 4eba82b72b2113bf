package command

import (
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/app/granting"
)

// runHere runs a command in the process of the test, in a folder and with the given
// variables as in a process of its own, and returns its exit code. It has nothing to
// read, and no terminal. Where the program of the tests has the race detector, it runs.
func runHere(ctx context.Context, dir string, variables []string, stdout, stderr io.Writer, args ...string) int {
	if os.Getenv(raceChildren) == "1" {
		cmd := exec.CommandContext(ctx, "sallyport", args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, variables, stdout, stderr
		_ = cmd.Run() // the exit code says how it ended
		return cmd.ProcessState.ExitCode()
	}
	lookup := func(name string) (value string, found bool) {
		for _, pair := range variables {
			if key, v, _ := strings.Cut(pair, "="); key == name {
				value, found = v, true
			}
		}
		return value, found
	}
	// As in testdata/program.
	const pause = 50 * time.Millisecond
	home, _ := lookup("HOME")
	return runCommand(ctx, args, &environment{
		stdin: io.NopCloser(strings.NewReader("")), stdout: nopCloser{stdout}, Environment: app.Environment{
			Stderr: stderr, Dir: dir, Home: home, Lookup: lookup, Pairs: func() []string { return slices.Clone(variables) },
			HintGrant: granting.Hint, Intervals: app.Intervals{Poll: pause, Attend: pause, Places: pause},
		},
	})
}

// tryHere runs a command with runHere, with the variables of the test and a home of
// its own, and returns its exit code and all that it prints.
func tryHere(t testing.TB, dir string, args ...string) (code int, said string) {
	t.Helper()
	out := newTold()
	code = runHere(t.Context(), dir, variablesIn(dir), out, out, args...)
	return code, out.await(t, 0, "")
}

// scriptVariables is the key of the variables of a script.
type scriptVariables struct{}

// runInScript is the command `sallyport` of scripts: it runs the program in the process
// of the test, which costs a third of a process. A command that reads its input, or a
// variable that the script sets, needs `exec sallyport`.
func runInScript(ts *testscript.TestScript, neg bool, args []string) {
	code := runHere(context.Background(), ts.MkAbs("."), ts.Value(scriptVariables{}).([]string), ts.Stdout(), ts.Stderr(), args...)
	if (code != exitDone) != neg {
		ts.Fatalf("exit code %d", code)
	}
}
