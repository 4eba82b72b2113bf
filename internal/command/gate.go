package command

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway/install"
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
	env      *processEnvironment
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

// openHands opens the parts that tools work with and that no reload replaces:
// files, network, children and attachments.
func (g *gate) openHands() (err error) {
	if g.uploads, err = attachments.New(nil); err != nil {
		return err
	}
	g.closers = append(g.closers, g.uploads.Close)
	if g.network = g.env.network; g.network == nil {
		g.network = &sallyport.NetworkBackend{}
	}
	if err := g.openStorage(); err != nil {
		return err
	}
	g.files = &sallyport.FileBackend{Home: g.env.home, Deny: g.ownFiles(g.env.dir), Packages: g.store.Dir(), Reads: g.state}
	if err := g.openChildren(); err != nil {
		return err
	}
	if g.commands, err = terminal.New(nil); err != nil {
		return err
	}
	// Close the children before the runner that holds them.
	g.closers = append(g.closers, g.commands.Close)
	return nil
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
