package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/ownregistry"
	"github.com/sallyport/sallyport/registry"
)

// Environment is what an import needs of the machine and of the program. Every
// field is required unless its comment says otherwise.
type Environment struct {
	// UserProgram is how a user starts this program, as a shell reads it; empty means
	// sallyport.
	UserProgram string
	// Home is the user's folder, Dir the working directory.
	Home, Dir string
	// Lookup returns an environment variable.
	Lookup func(name string) (value string, ok bool)
	// Folders say where clients keep their settings.
	Folders *clients.Folders
	// Out receives the answer, Err what is said beside it.
	Out, Err io.Writer
	// Ask puts a question to the user and returns the answer; ok is false at the end
	// of the input. nil without a terminal.
	Ask func(question string) (answer string, ok bool)
	// JSON selects an answer for programs.
	JSON bool
	// Version is the version of this program, which an observed server is told.
	Version string
	// ConfigFlags are the configuration files as the user named them; none
	// means the usual file.
	ConfigFlags []string
	// ConfigFiles are the absolute paths of the configuration files. Import adds
	// servers to the first one. Without one it writes that of `init`.
	ConfigFiles []string
	// Registries returns the registries that the user has set on this machine.
	Registries func() *ownregistry.Registries
	// LoadConfig returns the configuration in force.
	LoadConfig func() (*config.Config, error)
	// ReadConfig reads a draft as LoadConfig reads the configuration.
	ReadConfig func(d *Draft) (*config.Config, error)
	// FindMisfits loads a draft as a gate does, and returns what the servers of a
	// personality declare beyond its grant.
	FindMisfits func(ctx context.Context, d *Draft, personality string) (registry.Faults, error)
	// TryServers starts the servers of a draft for a role, and pins those that work
	// in the lock file of the draft.
	TryServers func(ctx context.Context, d *Draft, role string, trials []Trial) (map[string]TrialResult, error)
	// StoreCredential stores what the settings of this machine send to a registry, npm
	// or pypi, at an address, for the import of a client. It asks the user nothing.
	StoreCredential func(ctx context.Context, d *Draft, client, registry, address string) (StoredCredential, error)
	// StoreSecret stores the value that a client's file has for a secret of a server, as
	// StoreCredential does.
	StoreSecret func(ctx context.Context, d *Draft, client, ref string, value sallyport.Secret) (StoredCredential, error)
	// RemoveCredentials removes what these two stored for a client alone, unless it
	// was changed since, and returns the references. nil refs mean all.
	RemoveCredentials func(ctx context.Context, d *Draft, client string, refs []string) ([]string, error)
	// Commit makes all changes of files or none, for a draft that pins servers.
	Commit func(ctx context.Context, d *Draft, pinned []string, changes []onestep.Change) error
	// Replace makes all changes of files of clients or none.
	Replace func(changes []onestep.Change) error
	// FinishStep completes or undoes a change that an earlier command was interrupted
	// in.
	FinishStep func()
	// Program returns the path by which a client starts this program.
	Program func() (string, error)
	// LockName is the name of the lock file beside the configuration.
	LockName string
}

// Options are the wishes of the user.
type Options struct {
	// Name is the name of a client, or the path of a file.
	Name string
	// Personality may use the servers; empty means the one named like the
	// client.
	Personality string
	// Leave lists servers that stay with the client.
	Leave []string
	// Hosts lists SERVER=HOST: hosts that a server may reach.
	Hosts []string
	// Pins lists SERVER=VERSION: versions of packages.
	Pins []string
	// Plain lists SERVER=NAME: variables and headers that hold no secret.
	Plain []string
	// Observe starts each server once, unconfined, to see what it needs.
	Observe bool
	// Force restores a copy whole, whatever was changed since.
	Force bool
	// credentials holds, by reference, what is said of the credentials of registries
	// that this import has looked at.
	credentials map[string]string
	// stored says, by reference, where the values of secrets are that this import has
	// looked at.
	stored map[string]string
}

// SelectsServers reports whether an option is about the servers of one client.
func (o *Options) SelectsServers() bool {
	return o.Observe || len(o.Leave)+len(o.Hosts)+len(o.Pins)+len(o.Plain) > 0
}

// warnOfCopies names the copies that earlier versions left where git finds
// them: beside the files of clients and beside further files.
func (e *Environment) warnOfCopies(further ...string) {
	copies.FolderOf(e.Home).WarnOfOld(e.Err, append(further, clients.AllFiles(e.Folders)...)...)
}

// printJSON prints v as one JSON document, indented for a user.
func (e *Environment) printJSON(v any) error {
	enc := json.NewEncoder(e.Out)
	enc.SetEscapeHTML(false)
	if !e.JSON {
		enc.SetIndent("", "  ")
	}
	return enc.Encode(v)
}

// programName returns how a user starts this program.
func (e *Environment) programName() string { return cmp.Or(e.UserProgram, "sallyport") }

// printLine prints a line of the answer.
func (e *Environment) printLine(format string, args ...any) {
	fmt.Fprintf(e.Out, format+"\n", args...)
}
