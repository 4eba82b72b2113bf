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

// Runtime holds everything that a command needs. The parts that depend on the
// configuration alone are in its turn, which a server replaces when the
// configuration changes.
type Runtime struct {
	*Deployment
	Env      *Environment
	Builtin  bool // no file: this is the configuration that init would write
	Passing  bool // the state ends with the command
	views    bool // the command only looks
	State    store.State
	Settings store.Settings
	trusted  store.Settings // of the state that the configuration names; nil for settings
	// Access belongs to the state of the configuration, even in a view, which
	// uses nothing else of that state.
	Access store.Access
	// Approvals holds calls for a human, counters counts rate limits, switches
	// stops what an operator stopped, callers authenticates principals.
	Approvals  sallyport.ApprovalStore
	counters   sallyport.Limiter
	Switches   *auth.Switches
	Callers    *auth.Directory
	runs       *registry.Runs // what runs, under this configuration or an earlier one
	key        audit.Key
	log        *audit.Log
	Uploads    *attachments.Folder
	files      *sallyport.FileBackend
	network    *sallyport.NetworkBackend
	Packages   *install.Store // of packages
	look       PinPolicy      // what the command asks of upstream servers
	Live       atomic.Pointer[Live]
	Children   *sandbox.Runner
	Toolchains []sandbox.Toolchain // what children see
	commands   *terminal.Family
	Logger     *slog.Logger
	closers    []func() error
}

// openHands opens the parts that tools work with and that no reload replaces:
// files, network, children and attachments.
func (rt *Runtime) openHands() (err error) {
	if rt.Uploads, err = attachments.New(nil); err != nil {
		return err
	}
	rt.closers = append(rt.closers, rt.Uploads.Close)
	if rt.network = rt.Env.Network; rt.network == nil {
		rt.network = &sallyport.NetworkBackend{}
	}
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
	rt.closers = append(rt.closers, rt.commands.Close)
	return nil
}

// Close releases everything in the reverse order of opening.
func (rt *Runtime) Close() error {
	var errs []error
	for i := len(rt.closers) - 1; i >= 0; i-- {
		errs = append(errs, rt.closers[i]())
	}
	rt.closers = nil
	return errors.Join(errs...)
}
