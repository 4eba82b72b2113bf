package command

import (
	"context"

	"github.com/sallyport/sallyport/internal/app"
)

// forGate returns what the gate knows of the environment.
func (e *environment) forGate() *app.Environment {
	return &app.Environment{
		Stderr: e.stderr, Lookup: e.lookup, Pairs: e.pairs, Dir: e.dir, Home: e.home, Tools: e.tools, Network: e.network, Packages: e.packages,
		Intervals: e.intervals,
	}
}

// openGate opens a gate for calls. The caller closes it.
func openGate(ctx context.Context, env *environment, f *flags) (*app.Runtime, error) {
	rt, err := app.OpenForCalls(ctx, env.forGate(), f.config)
	return rt, refuseStart(err)
}

// viewGate opens a gate that only answers what it would decide.
func viewGate(ctx context.Context, env *environment, f *flags) (*app.Runtime, error) {
	rt, err := app.OpenForView(ctx, env.forGate(), f.config)
	return rt, refuseStart(err)
}

// checkGate opens a gate that changes nothing but the record.
func checkGate(ctx context.Context, env *environment, f *flags) (*app.Runtime, error) {
	rt, err := app.OpenForCheck(ctx, env.forGate(), f.config)
	return rt, refuseStart(err)
}

// askGate opens a gate that asks upstream servers what they offer.
func askGate(ctx context.Context, env *environment, f *flags) (*app.Runtime, error) {
	rt, err := app.OpenForQuestions(ctx, env.forGate(), f.config)
	return rt, refuseStart(err)
}

// refuseStart returns the error of a command that cannot start, or nil.
func refuseStart(err error) error {
	if err == nil {
		return nil
	}
	return usageError(err)
}
