package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/secrets"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
	"github.com/sallyport/sallyport/tools/database/sqlite"
	"github.com/sallyport/sallyport/tools/mail"
	"github.com/sallyport/sallyport/tools/terminal"
)

// deployment is one configuration in force: its registry and the resources that
// belong to it.
type deployment struct {
	config   *config.Config
	registry *registry.Registry
	tools    []sallyport.Tool
	servers  upstreamServers
	places   *places.Map
	// programs holds the programs that tools may write.
	programs []*writtenProgram
	// warnings lists what an operator must know although it stops nothing.
	warnings []string
	closers  []func() error
	// revision identifies the callers of this configuration. withdrawn lists
	// the permissions that every caller had in the previous configuration and
	// lost in this one.
	revision  uint64
	withdrawn []string
	// asking is true while upstream servers are being asked what they offer.
	asking atomic.Bool
}

// Close releases everything in the reverse order of opening.
func (t *deployment) Close() error {
	var errs []error
	for i := len(t.closers) - 1; i >= 0; i-- {
		errs = append(errs, t.closers[i]())
	}
	t.closers = nil
	return errors.Join(errs...)
}

// newDeployment builds the turn of a configuration: secrets, tools, roles. The caller
// closes it.
func (g *gate) newDeployment(ctx context.Context, c *config.Config) (_ *deployment, err error) {
	t := &deployment{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if t.tools, t.warnings, err = g.toolsOf(c); err != nil {
		return nil, err
	}
	t.checkWorkspace()
	t.places = g.placesOf(ctx, c)
	backends, err := g.newBackends(t)
	if err != nil {
		return nil, err
	}
	if err := g.mountServers(ctx, t, backends); err != nil {
		return nil, err
	}
	g.guardPrograms(ctx, t)
	t.registry, err = registry.New(backends, &registry.Options{
		Recorder: g.log, Limiter: g.counters, Approvals: g.approvals, Switches: g.switches, Standing: standingCheck{g.callers, &g.live}, Runs: g.runs,
		Facts:  g.state.Facts(),
		Logger: g.logger, Workspace: c.Workspace,
		Variables: g.env.pathVariables(c), Expected: t.expectedReason,
		Refresh: func(ctx context.Context, caller *sallyport.Caller) *sallyport.Caller {
			return t.refreshCaller(ctx, g.callers, caller)
		},
	})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, closeRegistry(ctx, t.registry))
	if err := t.registerTools(); err != nil {
		return nil, err
	}
	t.registerAdopted()
	if err := t.checkSecrets(backends.Secrets); err != nil {
		return nil, err
	}
	return t, t.checkNames()
}

// pathVariables returns the values of the variables in declared paths.
func (env *processEnvironment) pathVariables(c *config.Config) map[string]string {
	return map[string]string{"home": env.home, "self": c.Dir}
}

// closeRegistry returns a function that closes a registry and waits for its running
// tools.
func closeRegistry(ctx context.Context, r *registry.Registry) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWait)
		defer cancel()
		return r.Close(ctx)
	}
}

// printWarnings prints the warnings, which stop nothing.
func (t *deployment) printWarnings(w io.Writer) {
	for _, text := range t.warnings {
		fmt.Fprintf(w, "sallyport: warning: %s\n", text)
	}
}

// newBackends connects the backends that the configuration names. The others stay
// nil, and a tool that declares one of them is refused.
func (g *gate) newBackends(t *deployment) (*sallyport.Backends, error) {
	source, err := t.secretSource(g.env)
	if err != nil {
		return nil, err
	}
	b := &sallyport.Backends{
		Personalities: rolesOf(t.config, t.tools),
		Places:        t.places,
		Network:       g.network,
		Files:         g.files,
		Process:       g.children,
		Secrets:       source,
		KV:            g.state,
		Attachments:   g.uploads,
	}
	return b, t.openConnections(b, g.logger)
}

// databaseDrivers returns the drivers of the kinds of database that a
// configuration may name.
func databaseDrivers() map[string]database.Driver {
	return map[string]database.Driver{
		config.DriverPostgres: postgres.Driver(),
		config.DriverMySQL:    mysql.Driver(),
		config.DriverSQLite:   sqlite.Driver(),
	}
}

// openConnections opens the databases and mail relays of the configuration.
func (t *deployment) openConnections(b *sallyport.Backends, logger *slog.Logger) error {
	if len(t.config.Databases) > 0 {
		conns := map[string]database.Connection{}
		for name, d := range t.config.Databases {
			conns[name] = database.Connection{Driver: databaseDrivers()[d.Driver], SecretRef: d.URLSecret, Path: d.Path}
		}
		db, err := database.Open(conns, &database.Options{Secrets: b.Secrets, Logger: logger, Deny: b.Files.Deny})
		if err != nil {
			return t.config.Fault("", "databases", -1, err.Error())
		}
		t.closers = append(t.closers, db.Close)
		b.Databases = db
	}
	if len(t.config.Mail) > 0 {
		relays := map[string]mail.Relay{}
		for name, r := range t.config.Mail {
			relays[name] = mail.Relay{Host: r.Host, UserSecret: r.UserSecret, PasswordSecret: r.PasswordSecret, From: r.From, TLS: r.TLS}
		}
		m, err := mail.Open(relays, &mail.Options{Secrets: b.Secrets})
		if err != nil {
			return t.config.Fault("", "mail", -1, err.Error())
		}
		b.Mail = m
	}
	return nil
}

// registerTools adds the tools and their reducers to the registry.
func (t *deployment) registerTools() error {
	if err := t.registry.Register(t.tools...); err != nil {
		return t.locateFault(err)
	}
	for _, red := range terminal.Reducers() {
		if _, err := t.registry.RegisterReducer(red); err != nil {
			return err
		}
	}
	return nil
}

// checkSecrets refuses references of the tools that a backend would resolve to
// the same value.
func (t *deployment) checkSecrets(source sallyport.SecretSource) error {
	checker, ok := source.(secrets.Checker)
	if !ok {
		return nil
	}
	var refs []string
	for _, tool := range t.registry.Tools() {
		refs = append(refs, tool.Capabilities.Secrets...)
	}
	for i := range t.servers.declared {
		refs = append(refs, t.servers.declared[i].Capabilities.Secrets...)
		refs = append(refs, t.servers.declared[i].Implied().Secrets...)
	}
	return checker.Check(refs)
}

// secretSource chains the configured backends; nil when there is none.
func (t *deployment) secretSource(env *processEnvironment) (sallyport.SecretSource, error) {
	var sources []sallyport.SecretSource
	for i, b := range t.config.Secrets {
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
			return nil, t.config.Fault("", "secrets", i, fmt.Sprintf("secrets.%d.dir: %s cannot be opened: %s: make the folder, closed to other users", i, b.Dir, fsx.Reason(err)))
		}
		t.closers = append(t.closers, source.Close)
		sources = append(sources, source)
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return secrets.NewChain(sources...), nil
}
