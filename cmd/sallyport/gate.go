package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/secrets"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
	"github.com/sallyport/sallyport/tools/file"
	"github.com/sallyport/sallyport/tools/web"
)

// closeWait bounds how long the end of a command waits for running tools.
const closeWait = 10 * time.Second

// state is what a store must offer to be the state of a gate.
type state interface {
	audit.Store
	audit.Reader
	audit.Pruner
	sallyport.KVFactory
	sallyport.ReadMemory
	Close() error
}

// settings keeps small named values.
type settings interface {
	PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error)
	Put(ctx context.Context, name, value string) error
}

// gate is everything a command needs, wired from one configuration.
type gate struct {
	config   *config.Config
	builtin  bool // no file: the configuration that init would write
	passing  bool // the state ends with the command
	state    state
	settings settings
	key      audit.Key
	log      *audit.Log
	registry *registry.Registry
	uploads  *uploads
	logger   *slog.Logger
	closers  []func() error
}

// loadConfig reads the configuration that the flags, the environment or the
// folder name. Without a file it is the one that init would write, held in
// memory; builtin then is true.
func loadConfig(env *environment, f *flags) (c *config.Config, builtin bool, err error) {
	o := &config.Options{Home: env.home, Dir: env.dir, Environ: func(name string) string {
		v, _ := env.lookup(name)
		return v
	}}
	paths := f.config
	if len(paths) == 0 {
		if v, ok := env.lookup("SALLYPORT_CONFIG"); ok && v != "" {
			paths = []string{v}
		}
	}
	if len(paths) == 0 {
		// A link that leads nowhere is a configuration that is missing, not
		// the absence of one.
		_, err := os.Lstat(filepath.Join(env.dir, configName))
		if errors.Is(err, fs.ErrNotExist) {
			text, err := config.Preset(config.DefaultPreset)
			if err != nil {
				return nil, false, err
			}
			c, err := config.Parse(filepath.Join(env.dir, configName), text, o)
			return c, true, err
		}
		paths = []string{configName}
	}
	c, err = config.Load(paths, o)
	return c, false, err
}

// openGate wires backends, registry and record for calls. The caller closes
// it.
func openGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return wire(ctx, env, f, (*gate).openStore)
}

// viewGate wires a gate that is only asked what it would decide. It leaves no
// state file behind and needs none.
func viewGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return wire(ctx, env, f, (*gate).openMemory)
}

func wire(ctx context.Context, env *environment, f *flags, open func(*gate, context.Context) error) (g *gate, err error) {
	c, builtin, err := loadConfig(env, f)
	if err != nil {
		return nil, misused(err)
	}
	g = &gate{config: c, builtin: builtin, logger: slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	defer func() {
		if err != nil {
			err = misused(errors.Join(err, g.Close()))
		}
	}()
	if builtin {
		fmt.Fprintf(env.stderr, "sallyport: no %s here; using what 'sallyport init' would write\n", configName)
	}
	if err := open(g, ctx); err != nil {
		return g, err
	}
	if err := g.openLog(); err != nil {
		return g, err
	}
	backends, err := g.backends(env)
	if err != nil {
		return g, err
	}
	g.registry, err = registry.New(backends, &registry.Options{
		Recorder: g.log, Logger: g.logger, Workspace: c.Workspace,
		Variables: map[string]string{"home": env.home, "self": c.Dir},
	})
	if err != nil {
		return g, err
	}
	g.closers = append(g.closers, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return g.registry.Close(ctx)
	})
	if err := g.registry.Register(builtins()...); err != nil {
		return g, err
	}
	if err := g.checkSecrets(backends.Secrets); err != nil {
		return g, err
	}
	return g, g.checkNames()
}

// checkSecrets refuses references of the tools that one backend would answer
// with one value.
func (g *gate) checkSecrets(source sallyport.SecretSource) error {
	checker, ok := source.(secrets.Checker)
	if !ok {
		return nil
	}
	var refs []string
	for _, t := range g.registry.Tools() {
		refs = append(refs, t.Capabilities.Secrets...)
	}
	return checker.Check(refs)
}

// builtins returns the tools of this binary.
func builtins() []sallyport.Tool {
	return append(file.Tools(), web.Tools()...)
}

// openLog opens the log on the state and the key beside it.
func (g *gate) openLog() (err error) {
	if g.key, err = g.loadKey(); err != nil {
		return err
	}
	if g.log, err = audit.New(g.state, g.key, nil); err != nil {
		return err
	}
	g.closers = append(g.closers, g.log.Close)
	return nil
}

// openStore opens the state that the configuration names.
func (g *gate) openStore(ctx context.Context) error {
	if g.config.State.Kind == config.StateMemory {
		return g.openMemory(ctx)
	}
	db, err := sqlite.Open(ctx, g.config.State.Path, nil)
	if err != nil {
		return err
	}
	g.state, g.settings = db, db.Settings()
	g.closers = append(g.closers, g.state.Close)
	return nil
}

// openMemory opens a state that ends with the command.
func (g *gate) openMemory(context.Context) error {
	m, err := memory.New(nil)
	if err != nil {
		return err
	}
	g.state, g.settings, g.passing = m, m.Settings(), true
	g.closers = append(g.closers, g.state.Close)
	return nil
}

// keyPath is where the key of the chain lives: beside the state file, never
// in it.
func (g *gate) keyPath() string {
	return filepath.Join(filepath.Dir(g.config.State.Path), "audit.key")
}

func (g *gate) loadKey() (audit.Key, error) {
	if g.passing {
		return randomKey()
	}
	return audit.LoadKey(g.keyPath())
}

// backends wires what the configuration names. What it does not name stays
// nil, and a tool that declares it is refused.
func (g *gate) backends(env *environment) (*sallyport.Backends, error) {
	source, err := g.secretSource(env)
	if err != nil {
		return nil, err
	}
	uploads, err := newUploads()
	if err != nil {
		return nil, err
	}
	g.uploads = uploads
	g.closers = append(g.closers, uploads.Close)
	return &sallyport.Backends{
		Personalities: rolesOf(g.config),
		Network:       &sallyport.NetworkBackend{},
		Files:         &sallyport.FileBackend{Home: env.home, Deny: g.ownFiles(env.dir), Reads: g.state},
		Secrets:       source,
		KV:            g.state,
		Attachments:   uploads,
	}, nil
}

// ownFiles is what no tool may reach: configuration, state, key and secrets.
// A file in which a later command would look for its configuration belongs to
// it even while there is none: a tool that writes one would set its own
// ceiling.
func (g *gate) ownFiles(dir string) []string {
	own := append([]string{}, g.config.Files...)
	for _, folder := range []string{dir, g.config.Dir, g.config.Workspace} {
		if folder != "" {
			own = append(own, filepath.Join(folder, configName), filepath.Join(folder, stateDir))
		}
	}
	if g.config.State.Path != "" {
		own = append(own, g.config.State.Path, g.keyPath())
	}
	for _, b := range g.config.Secrets {
		if b.Dir != "" {
			own = append(own, b.Dir)
		}
	}
	return own
}

// secretSource chains the configured backends; nil when there is none.
func (g *gate) secretSource(env *environment) (sallyport.SecretSource, error) {
	var sources []sallyport.SecretSource
	for _, b := range g.config.Secrets {
		if b.EnvPrefix != "" {
			source, err := secrets.NewEnv(b.EnvPrefix, env.pairs())
			if err != nil {
				return nil, err
			}
			sources = append(sources, source)
			continue
		}
		source, err := secrets.OpenDir(b.Dir)
		if err != nil {
			return nil, err
		}
		g.closers = append(g.closers, source.Close)
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return secrets.NewChain(sources...), nil
}

// Close releases everything in the reverse order of opening.
func (g *gate) Close() error {
	var errs []error
	for i := len(g.closers) - 1; i >= 0; i-- {
		errs = append(errs, g.closers[i]())
	}
	g.closers = nil
	return errors.Join(errs...)
}
