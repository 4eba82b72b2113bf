package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/importer"
	"github.com/sallyport/sallyport/internal/onestep"
)

func connectCommand(env *environment, f *flags) *cobra.Command {
	var print bool
	var role string
	names := clients.Names()
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Make a known MCP client use this server",
		Long: `Add an entry to the file of a known MCP client, so that the client starts this
server over stdio. The rest of the file stays as it is, and a copy of it is kept
in ~/.local/state/sallyport/copies. --print shows the entry and changes nothing.
Servers that the client starts by itself stay outside of the gate: the command
names them, and import takes them over.

Known clients: ` + strings.Join(names, ", ") + `.`,
		Example: `  sallyport connect claude-code --print
  sallyport connect cursor`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := knownClient(args[0])
			if err != nil {
				return err
			}
			connection, err := importer.NewConnection(env.importEnvironment(f), &c, role)
			switch {
			case err != nil:
				return err
			case print:
				return connection.Print()
			}
			env.warnOfMachine(f)
			err = connection.Write()
			if _, ok := errors.AsType[*importer.NotConnected](err); ok {
				return usageError(err)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the entry, do not write it")
	cmd.Flags().StringVar(&role, "personality", "", "the `ROLE` of the client (default: that of the entry that is there, else the only role, or the one named default)")
	return cmd
}

// knownClient returns the client of a name.
func knownClient(name string) (clients.Client, error) {
	c, ok := clients.Find(name)
	if !ok {
		return c, fmt.Errorf("client %q is not known: expected one of %s", name, strings.Join(clients.Names(), ", "))
	}
	return c, nil
}

// clientFolders returns the folders in which clients keep their settings.
func (e *environment) clientFolders() *clients.Folders {
	f := &clients.Folders{Home: e.Home, Dir: e.Dir, OS: runtime.GOOS}
	f.AppData, _ = e.Lookup("APPDATA")
	f.LocalAppData, _ = e.Lookup("LOCALAPPDATA")
	f.Config, _ = e.Lookup("XDG_CONFIG_HOME")
	f.Codex, _ = e.Lookup("CODEX_HOME")
	return f
}

// warnOfCopies names the copies that earlier versions left where git finds
// them: beside the files of clients and beside further files.
func (e *environment) warnOfCopies(further ...string) {
	copies.FolderOf(e.Home).WarnOfOld(e.Stderr, append(further, clients.AllFiles(e.clientFolders())...)...)
}

// configPaths returns the absolute paths of the configuration files, and none
// when there is no file.
func configPaths(env *environment, f *flags) []string {
	paths := slices.Clone(f.config)
	if v, ok := env.Lookup("SALLYPORT_CONFIG"); len(paths) == 0 && ok && v != "" {
		paths = []string{v}
	}
	if len(paths) == 0 && fsx.Exists(fsx.Absolute(env.Dir, app.ConfigName)) {
		paths = []string{app.ConfigName}
	}
	for i := range paths {
		paths[i] = fsx.Absolute(env.Dir, paths[i])
	}
	return paths
}

// replaceClientFiles changes files of clients in a step of the configuration's folder, so
// that every command there finishes an interrupted one.
func (e *environment) replaceClientFiles(f *flags, changes []onestep.Change) error {
	dir := e.Dir
	if paths := configPaths(e, f); len(paths) > 0 {
		dir = filepath.Dir(paths[0])
	}
	return e.ReplaceFiles(dir, changes)
}
