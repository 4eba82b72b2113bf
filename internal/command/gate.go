package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/attachments"
	"github.com/sallyport/sallyport/tools/terminal"
)

// closeWait bounds how long a command waits at its end for running tools.
const closeWait = 10 * time.Second

// gate holds everything that a command needs. The parts that depend on the
// configuration alone are in its turn, which a server replaces when the
// configuration changes.
type gate struct {
	*deployment
	builtin  bool // no file: this is the configuration that init would write
	passing  bool // the state ends with the command
	views    bool // the command only looks
	state    store.State
	settings store.Settings
	trusted  store.Settings // of the state that the configuration names; nil for settings
	// desk belongs to the state of the configuration, even in a view, which
	// uses nothing else of that state.
	desk store.Access
	// approvals holds calls for a human, counters counts rate limits, switches
	// stops what an operator stopped, callers authenticates principals.
	approvals sallyport.ApprovalStore
	counters  sallyport.Limiter
	switches  *auth.Switches
	callers   *auth.Directory
	runs      *registry.Runs // what runs, under this configuration or an earlier one
	key       audit.Key
	log       *audit.Log
	uploads   *attachments.Folder
	files     *sallyport.FileBackend
	network   *sallyport.NetworkBackend
	store     *install.Store // of packages
	look      pinPolicy      // what the command asks of upstream servers
	live      atomic.Pointer[live]
	children  *sandbox.Runner
	shown     []sandbox.Toolchain // what children see
	commands  *terminal.Family
	logger    *slog.Logger
	closers   []func() error
}

// loadConfig reads the configuration that the flags, the environment or the
// working folder name. Without a file it returns the configuration that init
// would write, held in memory, and builtin is true.
func loadConfig(env *environment, f *flags) (c *config.Config, builtin bool, err error) {
	o := configOptions(env)
	paths := f.config
	if len(paths) == 0 {
		if v, ok := env.lookup("SALLYPORT_CONFIG"); ok && v != "" {
			paths = []string{v}
		}
	}
	if len(paths) == 0 {
		// A dangling link is a missing configuration, not the absence of one.
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

// configOptions returns what a configuration may know of its environment.
func configOptions(env *environment) *config.Options {
	return &config.Options{Home: env.home, Dir: env.dir, Environ: func(name string) string {
		v, _ := env.lookup(name)
		return v
	}}
}

// openGate connects backends, registry and record for calls. The caller closes
// the gate.
func openGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return openWith(ctx, env, f, (*gate).openStore)
}

// viewGate returns a gate that only answers what it would decide. It needs no
// state file and leaves none behind. When there is a state file, its principals
// and kill switches count.
func viewGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return openWith(ctx, env, f, func(g *gate, ctx context.Context) error {
		g.views = true
		return g.openView(ctx)
	})
}

// checkGate returns a gate that records what it asks of servers and changes
// nothing else.
func checkGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return openWith(ctx, env, f, func(g *gate, ctx context.Context) error {
		g.views = true
		return g.openStore(ctx)
	})
}

// askGate returns a gate that starts upstream servers to ask what they offer.
// It records these questions like calls. Without servers it is a viewGate.
func askGate(ctx context.Context, env *environment, f *flags) (*gate, error) {
	return openWith(ctx, env, f, func(g *gate, ctx context.Context) error {
		if len(g.config.Servers) > 0 {
			return g.openStore(ctx)
		}
		g.views = true
		return g.openView(ctx)
	})
}

func openWith(ctx context.Context, env *environment, f *flags, open func(*gate, context.Context) error) (g *gate, err error) {
	c, builtin, err := loadConfig(env, f)
	if err != nil {
		return nil, usageError(err)
	}
	g = &gate{deployment: &deployment{config: c}, builtin: builtin, logger: slog.New(slog.NewTextHandler(env.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}
	defer func() {
		if err != nil {
			err = usageError(errors.Join(err, g.Close()))
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
	if err := g.openHands(env); err != nil {
		return g, err
	}
	g.runs = registry.NewRuns(&registry.RunsOptions{
		Switches: g.switches, Standing: standingCheck{g.callers, &g.live}, Recorder: g.log, Logger: g.logger,
	})
	g.closers = append(g.closers, func() error { g.runs.Close(); return nil })
	t, err := g.newDeployment(ctx, env, c)
	if err != nil {
		return g, err
	}
	t.revision = g.callers.Revision()
	g.deployment = t
	g.closers = append(g.closers, func() error { return g.deployment.Close() })
	return g, nil
}

// openHands opens the parts that tools work with and that no reload replaces:
// files, network, children and attachments.
func (g *gate) openHands(env *environment) (err error) {
	if g.uploads, err = attachments.New(nil); err != nil {
		return err
	}
	g.closers = append(g.closers, g.uploads.Close)
	if g.network = env.network; g.network == nil {
		g.network = &sallyport.NetworkBackend{}
	}
	if err := g.openStorage(env); err != nil {
		return err
	}
	g.files = &sallyport.FileBackend{Home: env.home, Deny: g.ownFiles(env.dir), Packages: g.store.Dir(), Reads: g.state}
	if err := g.openChildren(env, g.files, g.network); err != nil {
		return err
	}
	if g.commands, err = terminal.New(nil); err != nil {
		return err
	}
	// Close the children before the runner that holds them.
	g.closers = append(g.closers, g.commands.Close)
	return nil
}

// openLog opens the audit log on the state and reads the key beside it.
func (g *gate) openLog(ctx context.Context) (err error) {
	if g.key, err = g.loadKey(ctx); err != nil {
		return err
	}
	if g.log, err = audit.New(g.state, g.key, nil); err != nil {
		return err
	}
	g.closers = append(g.closers, g.log.Close)
	return nil
}

// keyPath returns the path of the chain's key. The key lies beside the state
// file, never in it.
func (g *gate) keyPath() string {
	return filepath.Join(filepath.Dir(g.config.State.Path), "audit.key")
}

// loadKey reads the key, or creates one for a chain that has not begun. It does
// not replace a lost key, since a new key would fit no record. It looks at the
// chain before the key: another process that begins the chain at the same time
// creates the key first.
func (g *gate) loadKey(ctx context.Context) (audit.Key, error) {
	if g.passing {
		return randomKey()
	}
	begun := false
	for _, err := range g.state.Read(ctx, audit.Query{Last: 1}) {
		if err != nil {
			return audit.Key{}, err
		}
		begun = true
	}
	if _, err := os.Lstat(g.keyPath()); begun && errors.Is(err, fs.ErrNotExist) {
		return audit.Key{}, fmt.Errorf("the key of the record is gone: put %s back, or move %s away to begin another record", g.keyPath(), g.config.State.Path)
	}
	return audit.LoadKey(g.keyPath())
}

// ownFiles returns the files that no tool may reach: configuration, state, key
// and secrets. The list includes the names at which a later command would look
// for its configuration, even while no file has them: a tool that wrote one
// would set its own ceiling.
func (g *gate) ownFiles(dir string) []string {
	own := append([]string{}, g.config.Files...)
	for _, folder := range []string{dir, g.config.Dir, g.config.Workspace} {
		if folder != "" {
			own = append(own, filepath.Join(folder, configName), filepath.Join(folder, lockName), filepath.Join(folder, stateDir))
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

// Close releases everything in the reverse order of opening.
func (g *gate) Close() error {
	var errs []error
	for i := len(g.closers) - 1; i >= 0; i-- {
		errs = append(errs, g.closers[i]())
	}
	g.closers = nil
	return errors.Join(errs...)
}
