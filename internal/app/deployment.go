package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/known"
	places "github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/secrets"
	"github.com/sallyport/sallyport/tools/database"
	"github.com/sallyport/sallyport/tools/database/mysql"
	"github.com/sallyport/sallyport/tools/database/postgres"
	"github.com/sallyport/sallyport/tools/database/sqlite"
	"github.com/sallyport/sallyport/tools/mail"
	"github.com/sallyport/sallyport/tools/terminal"
)

// Deployment is one configuration in force: its registry and the resources that
// belong to it.
type Deployment struct {
	// Config is the configuration, which does not change.
	Config *config.Config
	// Registry decides the calls under it.
	Registry *registry.Registry
	// Tools are the tools of this program and those that the configuration
	// declares.
	Tools []sallyport.Tool
	// Plugins are the plugins of the configuration.
	Plugins []*Plugin
	// Servers are the upstream servers, whose tools are in the registry too.
	Servers Servers
	// Secrets are the sources of secret values, in the order in which they are
	// asked.
	Secrets []SecretPlace
	places  *places.Map
	// secretsOf finds secrets, databases and relays are the connections; each is
	// nil where the configuration has none.
	secretsOf sallyport.SecretSource
	databases *database.Backend
	relays    *mail.Backend
	sets      *known.Sets     // of values that ceilings name
	runner    *serverRunner   // of tasks; nil unless it is a tool of a server
	plain     *sandbox.Runner // runs the programs of secrets; nil without one
	// Programs holds the programs that tools may write.
	Programs []*WrittenProgram
	// warnings lists what an operator must know although it stops nothing.
	warnings []string
	// unaccepted says which programs of secrets are not started.
	unaccepted []string
	closers
	// revision identifies the callers of this configuration. withdrawn lists
	// the permissions that every caller had in the previous configuration and
	// lost in this one.
	revision  uint64
	withdrawn []string
	// pluginTools are those in the lock file, for a command that loads no plugins.
	pluginTools struct {
		once  sync.Once
		names []string
	}
	// asking is true while upstream servers are being asked what they offer.
	asking atomic.Bool
}

// newDeployment builds the deployment of a configuration: secrets, tools, roles. The caller
// closes it.
func (rt *Runtime) newDeployment(ctx context.Context, c *config.Config) (_ *Deployment, err error) {
	t := &Deployment{Config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if err := rt.openPins(t); err != nil {
		return nil, err
	}
	if t.Tools, t.warnings, err = rt.toolsOf(c); err != nil {
		return nil, err
	}
	if t.runner, err = readServerRunner(c); err != nil {
		return nil, err
	}
	if err := rt.loadPlugins(ctx, t); err != nil {
		return nil, err
	}
	t.checkWorkspace()
	t.places = rt.placesOf(ctx, c)
	backends, err := rt.newBackends(ctx, t)
	if err != nil {
		return nil, err
	}
	if err := rt.mountServers(ctx, t, backends); err != nil {
		return nil, err
	}
	if err := rt.addServerRunner(t); err != nil {
		return nil, err
	}
	rt.guardPrograms(ctx, t)
	if err := rt.openKnownSets(t, backends); err != nil {
		return nil, err
	}
	t.Registry, err = registry.New(backends, &registry.Options{
		Recorder: tellingRecorder{rt.log, rt, c.Digest}, Limiter: rt.counters, Approvals: &announcingQueue{ApprovalQueue: rt.Approvals, g: rt}, PersonConnected: rt.personConnected,
		ClaimApprovalRule: rt.Rules.Claim,
		Switches:          rt.Switches, Standing: standingCheck{rt.Callers, &rt.Live}, Runs: rt.runs,
		Facts: rt.State.Facts(), FactsInRecords: true, Conversations: rt.conversations, Delegations: rt.delegations, Known: t.sets, Sums: rt.sums,
		Costs: rt.costs, Budgets: c.Budgets, Dashboard: &rt.Dashboard, Traces: rt.traces,
		Logger: rt.Logger, Workspace: c.Workspace,
		Variables: rt.Env.pathVariables(c), Expected: t.expectedReason, Missing: t.explainMissing, MayCome: t.mayCome, CommandLine: rt.CommandLine,
		FixCommand: func(tool, role, capability, item string) string {
			return t.grantCommand(rt, tool, role, capability, item)
		},
		Refresh: func(ctx context.Context, caller *sallyport.Caller) *sallyport.Caller {
			return t.refreshCaller(ctx, rt.Callers, caller)
		},
	})
	if err != nil {
		return nil, err
	}
	t.closers = append(t.closers, closeRegistry(ctx, t.Registry))
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
func (env *Environment) pathVariables(c *config.Config) map[string]string {
	return map[string]string{"home": env.Home, "self": c.Dir}
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

// PrintWarnings prints the warnings, which stop nothing.
func (t *Deployment) PrintWarnings(w io.Writer) {
	for _, text := range t.warnings {
		fmt.Fprintf(w, "sallyport: warning: %s\n", text)
	}
	t.PrintUnaccepted(w)
}

// PrintUnaccepted prints which programs of secrets are not started.
func (t *Deployment) PrintUnaccepted(w io.Writer) {
	for _, text := range t.unaccepted {
		fmt.Fprintf(w, "sallyport: warning: %s\n", text)
	}
}

// newBackends connects the backends that the configuration names. The others stay
// nil, and a tool that declares one of them is refused.
func (rt *Runtime) newBackends(ctx context.Context, t *Deployment) (*sallyport.Backends, error) {
	if err := rt.openSecrets(ctx, t); err != nil {
		return nil, err
	}
	source := chainSecrets(t.Secrets)
	t.secretsOf = source
	b := &sallyport.Backends{
		Personalities: rolesOf(t.Config, t.Tools),
		Places:        t.places,
		Network:       rt.network,
		Files:         rt.files,
		Process:       rt.Children,
		Secrets:       source,
		KV:            rt.agents,
		Attachments:   rt.Uploads,
	}
	return b, rt.openConnections(t, b)
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
func (rt *Runtime) openConnections(t *Deployment, b *sallyport.Backends) error {
	if len(t.Config.Databases) > 0 {
		conns := map[string]database.Connection{}
		for name, d := range t.Config.Databases {
			conns[name] = connectionOf(d)
		}
		db, err := database.Open(conns, &database.Options{Secrets: b.Secrets, Logger: rt.Logger, Deny: b.Files.Deny, Dial: rt.dialOutside})
		if err != nil {
			return t.Config.Fault("", "databases", -1, err.Error())
		}
		t.closers = append(t.closers, db.Close)
		b.Databases, t.databases = db, db
	}
	if len(t.Config.Mail) > 0 {
		relays := map[string]mail.Relay{}
		for name, r := range t.Config.Mail {
			relays[name] = mail.Relay{Host: r.Host, UserSecret: r.UserSecret, PasswordSecret: r.PasswordSecret, From: r.From, TLS: r.TLS}
		}
		m, err := mail.Open(relays, &mail.Options{Secrets: b.Secrets, Dial: rt.dialOutside})
		if err != nil {
			return t.Config.Fault("", "mail", -1, err.Error())
		}
		b.Mail, t.relays = m, m
	}
	return nil
}

// registerTools adds the tools and their reducers to the registry.
func (t *Deployment) registerTools() error {
	if err := t.Registry.Register(t.Tools...); err != nil {
		return t.locateFault(err)
	}
	for _, red := range terminal.Reducers() {
		if _, err := t.Registry.RegisterReducer(red); err != nil {
			return err
		}
	}
	return nil
}

// checkSecrets refuses references of the tools that a backend would resolve to
// the same value.
func (t *Deployment) checkSecrets(source sallyport.SecretSource) error {
	checker, ok := source.(secrets.Checker)
	if !ok {
		return nil
	}
	var refs []string
	for _, tool := range t.Registry.Tools() {
		refs = append(refs, tool.Capabilities.Secrets...)
	}
	for i := range t.Servers.Declared {
		refs = append(refs, t.Servers.Declared[i].Capabilities.Secrets...)
		refs = append(refs, t.Servers.Declared[i].Implied().Secrets...)
	}
	return checker.Check(refs)
}
