package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/attached"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/costs"
	"github.com/sallyport/sallyport/internal/dashboard"
	"github.com/sallyport/sallyport/internal/delegation"
	"github.com/sallyport/sallyport/internal/logging"
	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/notices"
	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/internal/profiles"
	"github.com/sallyport/sallyport/internal/secretstore"
	"github.com/sallyport/sallyport/internal/serverlist"
	"github.com/sallyport/sallyport/internal/sums"
	"github.com/sallyport/sallyport/internal/tracing"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
	"github.com/sallyport/sallyport/store"
	"github.com/sallyport/sallyport/store/attachments"
	"github.com/sallyport/sallyport/tools/browser"
	"github.com/sallyport/sallyport/tools/terminal"
)

// closeWait bounds how long a command waits at its end for running tools.
const closeWait = 10 * time.Second

// Runtime holds everything that a command needs. The parts that depend on the
// configuration alone are in its deployment, which a server replaces when the
// configuration changes.
type Runtime struct {
	deployment atomic.Pointer[Deployment] // in force
	// Env is what the runtime knows of its process.
	Env *Environment
	// Builtin is true without a configuration file: the configuration is the one
	// that init would write.
	Builtin bool
	// ConfigFiles are the files of the configuration, which no reload changes.
	ConfigFiles []string
	views       bool      // the command only looks
	look        PinPolicy // what the command asks of upstream servers
	// Logger receives what an operator may want to know; nil discards it.
	Logger *slog.Logger

	// Metrics counts what a server decides; nil in every other command, which counts
	// nothing.
	Metrics *metrics.Metrics
	lines   *logging.Log  // behind Logger in a server; nil in every other command
	shadow  *serverShadow // judges the calls of a server, too; nil without one
	// notices tells people of held calls; it holds nil in every command but a server.
	notices atomic.Pointer[notices.Sender]
	beside  *Runtime        // the server beside which this one judges; nil for any other
	traces  *tracing.Tracer // of a server that sends them; nil in every other one, and in every other command
	spans   *otlp.Exporter  // behind traces

	past *pastState // whose calls are decided again; nil in every other command

	// State holds everything that outlives a command.
	State  store.State
	agents *agentState // State, as tools get at it
	// Settings are the named values of the state.
	Settings store.Settings
	// Passing is true when the state ends with the command.
	Passing bool
	trusted store.Settings // of the state that the configuration names; nil for Settings
	// Access belongs to the state of the configuration, even in a view, which
	// uses nothing else of that state.
	Access store.Access
	// Approvals holds calls for a human.
	Approvals sallyport.ApprovalStore
	news      newsBook // earlier calls, to which held ones are compared
	// Rules are what people have allowed for sessions.
	Rules    *approvals.Rules
	counters sallyport.Limiter // counts rate limits
	key      audit.Key
	log      *audit.Log

	// Switches stops what an operator stopped.
	Switches *auth.Switches
	// Callers authenticates principals.
	Callers       *auth.Directory
	conversations *conversation.Memory // what they were told and have read
	delegations   *delegation.Book     // what their callers delegated to sub-agents
	sums          *sums.Book           // what ceilings over arguments count
	costs         *costs.Book          // what calls cost
	runs          *registry.Runs       // what runs, under this configuration or an earlier one
	// Dashboard passes on the progress of running calls.
	Dashboard dashboard.Hub
	// Live is what a server serves; it holds nil in every other command.
	Live    atomic.Pointer[Live]
	anchors atomic.Pointer[anchorWorker]  // keeps heads elsewhere; nil where no place is named
	pushers atomic.Pointer[[]namedPusher] // send the record elsewhere; nil where no collector is named

	// Uploads holds the files that calls bring along.
	Uploads *attachments.Folder
	// Shelf keeps the files that clients send, within the bounds of each principal.
	Shelf   *attached.Shelf
	files   *sallyport.FileBackend
	network *sallyport.NetworkBackend
	// Listeners opens what this process listens at; no tool reaches it.
	Listeners *serverlist.Listeners
	// Packages holds the packages that servers run from.
	Packages *install.Store
	// Children starts child processes.
	Children *sandbox.Runner
	// Toolchains are what children see of the machine beside its system folders.
	Toolchains []sandbox.Toolchain
	commands   *terminal.Family
	pages      []sallyport.Tool             // that use web pages
	stores     map[string]secretstore.Store // of secrets that users set

	closers
}

// newRuntime returns a runtime of a configuration, with nothing opened.
func newRuntime(env *Environment, c *config.Config) *Runtime {
	rt := &Runtime{Env: env}
	rt.deployment.Store(&Deployment{Config: c})
	return rt
}

// InForce returns the deployment in force, or nil before there is one. A server
// replaces it when the configuration changes; a caller that needs two of its
// parts to agree keeps what this returned.
func (rt *Runtime) InForce() *Deployment { return rt.deployment.Load() }

// Running is what runs under the gate; nil in a command that calls nothing.
func (rt *Runtime) Running() *registry.Runs { return rt.runs }

// closers release what was opened.
type closers []func() error

// Close releases everything in the reverse order of opening.
func (c *closers) Close() error {
	var errs []error
	for _, release := range slices.Backward(*c) {
		errs = append(errs, release())
	}
	*c = nil
	return errors.Join(errs...)
}

// openHands opens the parts that tools work with and that no reload replaces:
// files, network, children and attachments.
func (rt *Runtime) openHands(context.Context) (err error) {
	if rt.Uploads, err = attachments.New(nil); err != nil {
		return err
	}
	rt.closers = append(rt.closers, rt.Uploads.Close)
	rt.Shelf = attached.NewShelf(rt.Uploads)
	rt.Listeners = serverlist.NewListeners(rt.Env.serverFolder(), rt.Logger)
	rt.network = rt.Env.guardNetwork(rt.Listeners)
	if err := rt.openStorage(); err != nil {
		return err
	}
	rt.files = &sallyport.FileBackend{Home: rt.Env.Home, Deny: rt.ownFiles(rt.Env.Dir), Packages: rt.Packages.Dir(), Reads: rt.State}
	if err := rt.openChildren(); err != nil {
		return err
	}
	if rt.commands, err = terminal.New(nil); err != nil {
		return err
	}
	// Close the children before the runner that holds them.
	pages, endPages := browser.New(func() bool { return profiles.FindBrowser() != "" })
	rt.pages = pages
	rt.closers = append(rt.closers, rt.commands.Close, endPages)
	return nil
}
