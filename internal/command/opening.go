package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
)

// openForCalls connects backends, registry and record for calls. The caller
// closes the gate.
func openForCalls(ctx context.Context, env *processEnvironment, paths []string) (*gate, error) {
	return openWith(ctx, env, paths, (*gate).openStore)
}

// openForView returns a gate that only answers what it would decide. It needs no
// state file and leaves none behind. When there is a state file, its principals
// and kill switches count.
func openForView(ctx context.Context, env *processEnvironment, paths []string) (*gate, error) {
	return openWith(ctx, env, paths, func(g *gate, ctx context.Context) error {
		g.views = true
		return g.openView(ctx)
	})
}

// openForCheck returns a gate that records what it asks of servers and changes
// nothing else.
func openForCheck(ctx context.Context, env *processEnvironment, paths []string) (*gate, error) {
	return openWith(ctx, env, paths, func(g *gate, ctx context.Context) error {
		g.views = true
		return g.openStore(ctx)
	})
}

// openForQuestions returns a gate that starts upstream servers to ask what they offer.
// It records these questions like calls. Without servers it is as of
// openForView.
func openForQuestions(ctx context.Context, env *processEnvironment, paths []string) (*gate, error) {
	return openWith(ctx, env, paths, func(g *gate, ctx context.Context) error {
		if len(g.config.Servers) > 0 {
			return g.openStore(ctx)
		}
		g.views = true
		return g.openView(ctx)
	})
}

// openForLock returns a gate that treats servers which differ from their pins
// by a policy. It refuses to open without a configuration file.
func openForLock(ctx context.Context, env *processEnvironment, paths []string, l pinPolicy) (*gate, error) {
	return openWith(ctx, env, paths, func(g *gate, ctx context.Context) error {
		if g.builtin {
			return fmt.Errorf("there is no %s here, and without one no MCP server", configName)
		}
		g.look = l
		return g.openStore(ctx)
	})
}

// openForRecord opens the state without the gate, for its records. It creates
// no state file.
func openForRecord(ctx context.Context, env *processEnvironment, paths []string) (g *gate, err error) {
	c, builtin, err := loadConfig(env, paths)
	if err != nil {
		return nil, err
	}
	g = &gate{env: env, deployment: &deployment{config: c}, builtin: builtin}
	open := g.openStore
	if path := c.State.Path; path != "" {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(env.stderr, "sallyport: no record yet: %s does not exist\n", path)
			open = g.openMemory
		}
	}
	if err := open(ctx); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// openForAccess opens the state without the gate, for its records, principals
// and kill switches. Only a change creates a state file.
func openForAccess(ctx context.Context, env *processEnvironment, paths []string, change bool) (g *gate, err error) {
	c, builtin, err := loadConfig(env, paths)
	if err != nil {
		return nil, err
	}
	if change && c.State.Kind == config.StateMemory {
		return nil, errors.New("the configuration keeps its state in memory, where this change would end with the command: set state to a file")
	}
	g = &gate{env: env, deployment: &deployment{config: c}, builtin: builtin}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	open := g.openStore
	if _, err := os.Lstat(c.State.Path); !change && errors.Is(err, fs.ErrNotExist) {
		open = g.openMemory
	}
	if err := open(ctx); err != nil {
		return g, err
	}
	return g, g.openCallers(ctx)
}

func openWith(ctx context.Context, env *processEnvironment, paths []string, open func(*gate, context.Context) error) (g *gate, err error) {
	c, builtin, err := loadConfig(env, paths)
	if err != nil {
		return nil, err
	}
	g = &gate{env: env, deployment: &deployment{config: c}, builtin: builtin, logger: slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	if builtin {
		fmt.Fprintf(env.stderr, "sallyport: no %s here; using what 'sallyport init' would write\n", configName)
	}
	if err := open(g, ctx); err != nil {
		return g, err
	}
	if err := g.openLog(ctx); err != nil {
		return g, err
	}
	if err := errors.Join(g.openCallers(ctx), g.openCounters()); err != nil {
		return g, err
	}
	if err := g.openHands(); err != nil {
		return g, err
	}
	g.runs = registry.NewRuns(&registry.RunsOptions{
		Switches: g.switches, Standing: standingCheck{g.callers, &g.live}, Recorder: g.log, Logger: g.logger,
	})
	g.closers = append(g.closers, func() error { g.runs.Close(); return nil })
	t, err := g.newDeployment(ctx, c)
	if err != nil {
		return g, err
	}
	t.revision = g.callers.Revision()
	g.deployment = t
	g.closers = append(g.closers, func() error { return g.deployment.Close() })
	return g, nil
}
