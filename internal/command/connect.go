package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/fsx"
)

func connectCommand(env *environment, f *flags) *cobra.Command {
	var print bool
	var role string
	names := clients.Names()
	cmd := &cobra.Command{
		Use:   "connect CLIENT",
		Short: "Make a known MCP client use this server",
		Long: `Add an entry to the file of a known MCP client, so that the client starts this
server over stdio. The rest of the file stays as it is, and a copy is kept beside
it. --print shows the entry and changes nothing. To take over the servers that
the client already has, use import.

Known clients: ` + strings.Join(names, ", ") + `.`,
		Example: `  sallyport connect claude-code --print
  sallyport connect cursor`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := knownClient(args[0])
			if err != nil {
				return usageError(err)
			}
			return env.connectClient(f, &c, role, print)
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the entry, do not write it")
	cmd.Flags().StringVar(&role, "personality", "", "the `ROLE` of the client (default: the only role, or the one named default)")
	return cmd
}

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
	f.Config, _ = e.Lookup("XDG_CONFIG_HOME")
	return f
}

// warnOfCopies names the copies that earlier versions left where git finds
// them: beside the files of clients and beside further files.
func (e *environment) warnOfCopies(further ...string) {
	copies.FolderOf(e.Home).WarnOfOld(e.Stderr, append(further, clients.AllFiles(e.clientFolders())...)...)
}

// connectClient adds the entry to the file of a client, or prints it.
func (e *environment) connectClient(f *flags, c *clients.Client, role string, print bool) error {
	entry, err := stdioEntry(e, f, c, role)
	if err != nil {
		return usageError(err)
	}
	path := c.Main(e.clientFolders())
	p := e.newPrinter(f)
	if print {
		fmt.Fprintf(e.Stderr, "for %s\n", path)
		return p.PrintJSON(map[string]any{c.Key: map[string]any{clients.Own: entry}})
	}
	if err := e.addEntry(c, path, entry); err != nil {
		return usageError(err)
	}
	if p.JSON {
		return p.PrintJSON(map[string]string{"client": c.Name, "file": path})
	}
	p.PrintLine("added sallyport to %s", path)
	return nil
}

// stdioEntry returns the entry with which a client starts this server.
func stdioEntry(env *environment, f *flags, c *clients.Client, role string) (map[string]any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if isTemporary(exe) {
		exe = "sallyport" // `go run` built this binary: use the installed one
	}
	args := []string{"serve", "--stdio"}
	if role != "" {
		args = append(args, "--personality", role)
	}
	configs := configPaths(env, f)
	if len(configs) == 0 {
		return nil, fmt.Errorf("no %s in %s: run 'sallyport init' first; otherwise the folder of the client decides which file counts", app.ConfigName, env.Dir)
	}
	for _, path := range configs {
		args = append(args, "--config", path)
	}
	entry := map[string]any{"command": exe, "args": args}
	if c.Typed {
		entry["type"] = "stdio"
	}
	return entry, nil
}

// configPaths returns the absolute paths of the configuration files, and none
// when there is no file.
func configPaths(env *environment, f *flags) []string {
	paths := slices.Clone(f.config)
	if v, ok := env.Lookup("SALLYPORT_CONFIG"); len(paths) == 0 && ok && v != "" {
		paths = []string{v}
	}
	if _, err := os.Lstat(fsx.Absolute(env.Dir, app.ConfigName)); len(paths) == 0 && err == nil {
		paths = []string{app.ConfigName}
	}
	for i := range paths {
		paths[i] = fsx.Absolute(env.Dir, paths[i])
	}
	return paths
}

// isTemporary reports whether a binary is one that `go run` will remove.
func isTemporary(exe string) bool {
	return strings.Contains(exe, string(filepath.Separator)+"go-build")
}

// addEntry adds the server to the file of a client and leaves everything else
// as it is.
func (e *environment) addEntry(c *clients.Client, path string, entry map[string]any) error {
	value, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file, err := clients.Read(*c, path, e.clientFolders())
	if err != nil {
		return fmt.Errorf("%w; nothing was changed: add the entry that --print shows yourself", err)
	}
	text, err := file.Connect(value)
	if err != nil || bytes.Equal(text, file.Text) {
		return err // the copy holds the file as it was before the entry
	}
	_, err = copies.FolderOf(e.Home).ChangeFile(file.Path, file.Text, text, time.Now())
	return err
}
