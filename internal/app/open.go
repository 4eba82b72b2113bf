package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/registry"
)

// OpenForCalls connects backends, registry and record for calls. The caller
// closes the gate.
func OpenForCalls(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, (*Runtime).openStore)
}

// OpenForView returns a gate that only answers what it would decide. It needs no
// state file and leaves none behind. When there is a state file, its principals
// and kill switches count.
func OpenForView(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		rt.views = true
		return rt.openView(ctx)
	})
}

// OpenForCheck returns a gate that records what it asks of servers and changes
// nothing else.
func OpenForCheck(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		rt.views = true
		return rt.openStore(ctx)
	})
}

// OpenForQuestions returns a gate that starts upstream servers to ask what they offer.
// It records these questions like calls. Without servers it is as of
// openForView.
func OpenForQuestions(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		if len(rt.InForce().Config.Servers) > 0 {
			return rt.openStore(ctx)
		}
		rt.views = true
		return rt.openView(ctx)
	})
}

// OpenForLock returns a gate that treats servers which differ from their pins
// by a policy. It refuses to open without a configuration file.
func OpenForLock(ctx context.Context, env *Environment, paths []string, l PinPolicy) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		if rt.Builtin {
			return fmt.Errorf("there is no %s here: run sallyport init first", ConfigName)
		}
		rt.look = l
		return rt.openStore(ctx)
	})
}

// OpenForReplay returns a gate that only decides the calls of a record again. The record
// is that of the configuration which commands find without --config, or else of the one
// that is opened. Nothing is started, and neither state is changed.
func OpenForReplay(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		rt.views = true
		return rt.openPast(ctx)
	})
}

// OpenForSuggest is [OpenForReplay] for the record of the configuration that is opened.
func OpenForSuggest(ctx context.Context, env *Environment, paths []string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		rt.views = true
		return rt.openPastOf(ctx, rt.InForce().Config.State)
	})
}

// OpenForRecord opens the state without the gate, for its records. It creates
// no state file.
func OpenForRecord(ctx context.Context, env *Environment, paths []string) (rt *Runtime, err error) {
	if env, paths, err = findServer(env, paths); err != nil {
		return nil, err
	}
	if rt, err = loadRuntime(env, paths); err != nil {
		return nil, err
	}
	open := rt.openStore
	if path := rt.InForce().Config.State.Path; path != "" && lacksState(path) {
		fmt.Fprintf(env.Stderr, "sallyport: no record yet: %s does not exist; --config FILE looks elsewhere\n", path)
		open = rt.openMemory
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return rt, nil
}

// OpenForAccess opens the state without the gate, for its records, principals
// and kill switches. Only a change creates a state file.
func OpenForAccess(ctx context.Context, env *Environment, paths []string, change bool) (rt *Runtime, err error) {
	if rt, err = loadRuntime(env, paths); err != nil {
		return nil, err
	}
	if change && rt.InForce().Config.State.Kind == config.StateMemory {
		return nil, errors.New("the configuration keeps its state in memory, so this change would be lost when the command ends: set state to a file")
	}
	open := rt.openStore
	if !change && lacksState(rt.InForce().Config.State.Path) {
		open = rt.openMemory
	}
	if err = open(ctx); err == nil {
		err = rt.openCallers(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return rt, nil
}

// OpenForSecrets reads the configuration, for commands that change where secrets
// are kept. The state is opened when a change is recorded.
func OpenForSecrets(_ context.Context, env *Environment, paths []string) (*Runtime, error) {
	return loadRuntime(env, paths)
}

// loadRuntime reads the configuration and opens nothing.
func loadRuntime(env *Environment, paths []string) (*Runtime, error) {
	c, builtin, err := LoadConfig(env, paths)
	if err != nil {
		return nil, err
	}
	rt := newRuntime(env, c)
	rt.Builtin, rt.ConfigFiles = builtin, c.Files
	return rt, nil
}

func openWith(ctx context.Context, env *Environment, paths []string, open func(*Runtime, context.Context) error) (rt *Runtime, err error) {
	if rt, err = loadRuntime(env, paths); err != nil {
		return nil, err
	}
	rt.Logger = slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	defer func() {
		if err != nil {
			err = errors.Join(err, rt.Close())
		}
	}()
	if rt.Builtin {
		fmt.Fprintf(env.Stderr, "sallyport: no %s here; using what '%s init' would write\n", ConfigName, env.ProgramName())
	}
	for _, open := range []func(context.Context) error{
		func(ctx context.Context) error { return open(rt, ctx) }, rt.openLog, rt.openCallers, rt.openCounters, rt.openHands,
	} {
		if err := open(ctx); err != nil {
			return rt, err
		}
	}
	rt.runs = registry.NewRuns(&registry.RunsOptions{
		Switches: rt.Switches, Standing: standingCheck{rt.Callers, &rt.Live}, Recorder: rt.log, Logger: rt.Logger,
	})
	rt.closers = append(rt.closers, func() error { rt.runs.Close(); return nil })
	tasks, err := rt.State.KV(ctx, taskScope)
	if err != nil {
		return rt, err
	}
	rt.delegations = delegation.NewBook()
	rt.conversations, rt.sums = conversation.New(tasks), sums.New(rt.State.Settings(), rt.past.clock())
	rt.costs = costs.New(rt.sums, rt.past.clock())
	t, err := rt.newDeployment(ctx, rt.InForce().Config)
	if err != nil {
		return rt, err
	}
	t.revision = rt.Callers.Revision()
	rt.deployment.Store(t)
	rt.closers = append(rt.closers, func() error { return rt.InForce().Close() })
	return rt, nil
}
