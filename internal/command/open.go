package command

import (
	"context"
)

// forGate returns what the gate knows of the environment.
func (e *environment) forGate() *processEnvironment {
	return &processEnvironment{
		stderr: e.stderr, lookup: e.lookup, pairs: e.pairs, dir: e.dir, home: e.home, network: e.network, packages: e.packages,
	}
}

// openGate opens a gate for calls. The caller closes it.
func openGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	g, err := openForCalls(ctx, env.forGate(), f.config)
	return g, refuseStart(err)
}

// viewGate opens a gate that only answers what it would decide.
func viewGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	g, err := openForView(ctx, env.forGate(), f.config)
	return g, refuseStart(err)
}

// checkGate opens a gate that changes nothing but the record.
func checkGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	g, err := openForCheck(ctx, env.forGate(), f.config)
	return g, refuseStart(err)
}

// askGate opens a gate that asks upstream servers what they offer.
func askGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	g, err := openForQuestions(ctx, env.forGate(), f.config)
	return g, refuseStart(err)
}

// refuseStart returns the error of a command that cannot start, or nil.
func refuseStart(err error) error {
	if err == nil {
		return nil
	}
	return usageError(err)
}
