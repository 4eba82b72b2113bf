package secretstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// programWait bounds one run of a program: a call waits for it.
	programWait = 5 * time.Second
	// programFor is how long a value that a program printed stands. A change
	// where the program has it from shows after that time.
	programFor = time.Minute
	// programRuns bounds how many runs of one program there are at a time: each
	// logs in somewhere.
	programRuns = 4
	// refMark stands for the reference in an argument.
	refMark = "{ref}"
)

// ProgramOptions say how a program is run.
type ProgramOptions struct {
	// Runner starts the program, required.
	Runner sallyport.ProcessRunner
	// Env is the environment of the program.
	Env map[string]string
	// Check is called with the file that is about to run, absolute and with links
	// followed, before each start. Its error refuses the start. nil allows every
	// file.
	Check func(path string) error
}

// Program finds secrets by running a program that prints the value of a
// reference, such as those of password managers. It is run without a shell, and
// ends within five seconds. It is safe for concurrent use.
type Program struct {
	argv []string
	o    ProgramOptions
	wait time.Duration

	slots chan struct{} // one for each run at a time

	mu    sync.Mutex
	runs  map[string]*programRun
	known []sallyport.Secret
}

// programRun is one run of a program, which ends when done is closed. The other
// fields do not change from then on.
type programRun struct {
	done  chan struct{}
	value sallyport.Secret
	found bool
	err   error
	at    time.Time // zero while it runs
}

// NewProgram returns the secrets of a program: argv is its absolute path and its
// arguments. "{ref}" in an argument stands for the reference; where no argument
// has it, the reference is the last argument. It runs nothing.
func NewProgram(argv []string, o ProgramOptions) *Program {
	argv = slices.Clone(argv)
	if !slices.ContainsFunc(argv[1:], func(arg string) bool { return strings.Contains(arg, refMark) }) {
		argv = append(argv, refMark)
	}
	return &Program{argv: argv, o: o, wait: programWait, slots: make(chan struct{}, programRuns), runs: map[string]*programRun{}}
}

// Secret runs the program, unless it printed the value within the last minute. A
// program that fails is an error: its exit code does not tell a missing secret
// from a login that has ended. One that prints nothing does not have the
// reference. No error has a part of what the program printed.
func (p *Program) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return sallyport.Secret{}, false, err
	}
	if strings.HasPrefix(ref, "-") {
		return sallyport.Secret{}, false, fmt.Errorf("secret %s: the program would take it for an option", ref)
	}
	run := p.joinRun(ctx, ref)
	select {
	case <-run.done:
		return run.value, run.found, run.err
	case <-ctx.Done():
		return sallyport.Secret{}, false, ctx.Err()
	}
}

// joinRun returns the run that prints a reference: the one that has ended within the
// last minute, the one that runs, or a new one. It is for all who ask before it ends, so
// that it does not end with the first of them.
func (p *Program) joinRun(ctx context.Context, ref string) *programRun {
	p.mu.Lock()
	defer p.mu.Unlock()
	if had := p.runs[ref]; had != nil && (had.at.IsZero() || time.Since(had.at) < programFor) {
		return had
	}
	r := &programRun{done: make(chan struct{})}
	if len(p.runs) >= maxSecrets {
		r.err = fmt.Errorf("secret %s: %s gave more than %d secrets", ref, p.argv[0], maxSecrets)
		close(r.done)
		return r
	}
	p.runs[ref] = r
	ctx = context.WithoutCancel(ctx)
	go func() {
		value, found, err := p.askProgram(ctx, ref)
		p.mu.Lock()
		defer p.mu.Unlock()
		defer close(r.done)
		r.value, r.found, r.err, r.at = value, found, err, time.Now()
		if !found {
			delete(p.runs, ref)
		} else if !slices.Contains(p.known, value) {
			p.known = append(slices.Clip(p.known), value)
		}
	}()
	return r
}

// askProgram runs the program for a reference, when fewer others run than may.
func (p *Program) askProgram(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	p.slots <- struct{}{}
	value, err := p.runProgram(ctx, ref)
	<-p.slots
	switch {
	case err != nil:
		return sallyport.Secret{}, false, fmt.Errorf("secret %s: %s: %w", ref, p.argv[0], err)
	case value == "":
		return sallyport.Secret{}, false, nil
	}
	if err := checkValue(ref, value); err != nil {
		return sallyport.Secret{}, false, err
	}
	return sallyport.NewSecret(value), true, nil
}

// Known returns the values that were asked for: nothing tells which others the
// program has.
func (p *Program) Known(context.Context) ([]sallyport.Secret, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known, nil
}

// runProgram runs the program once and returns what it prints, without one line ending.
func (p *Program) runProgram(ctx context.Context, ref string) (string, error) {
	args := make([]string, len(p.argv)-1)
	for i, arg := range p.argv[1:] {
		args[i] = strings.ReplaceAll(arg, refMark, ref)
	}
	errSlow := fmt.Errorf("it did not end within %s", p.wait)
	ctx, cancel := context.WithTimeoutCause(ctx, p.wait, errSlow)
	defer cancel()
	child, err := p.o.Runner.Start(ctx, &sallyport.Spawn{
		Grant:  &sallyport.Grant{Process: sallyport.ProcessGrant{Binaries: []string{p.argv[0]}}},
		Binary: p.argv[0], Args: args,
		Options: sallyport.SpawnOptions{Env: p.o.Env, MaxOutput: maxValueBytes + 3, Check: p.o.Check},
	})
	if err != nil {
		return "", err
	}
	res, err := child.Wait()
	switch {
	case errors.Is(context.Cause(ctx), errSlow):
		return "", errSlow
	case err != nil:
		return "", err
	case res.ExitCode != 0:
		return "", fmt.Errorf("it ended with exit code %d; run it yourself to see why", res.ExitCode)
	case len(res.Stdout) > maxValueBytes+2:
		return "", fmt.Errorf("it printed more than %d bytes", maxValueBytes)
	}
	return text.CutLineEnd(string(res.Stdout)), nil
}
