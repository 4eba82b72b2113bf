package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
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
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
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

// connectClient adds the entry to the file of a client, or prints it.
func (e *environment) connectClient(f *flags, c *clients.Client, role string, print bool) error {
	entry, err := stdioEntry(e, configPaths(e, f), c, role)
	if err != nil {
		return err
	}
	value, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	path := c.Main(e.clientFolders())
	p := e.newPrinter(f)
	if print {
		fmt.Fprintf(e.Stderr, "for %s\n", path)
		if !c.TOML || f.json {
			return p.PrintJSON(map[string]any{c.Key: map[string]any{clients.Own: entry}})
		}
		lines, err := c.FormatEntry(value)
		if err == nil {
			_, err = io.WriteString(e.stdout, lines)
		}
		return err
	}
	e.warnOfMachine(f)
	e.FinishStep(configPaths(e, f))
	if err := e.addEntry(f, c, path, value); err != nil {
		return err
	}
	outside, faults := c.Outside(e.clientFolders())
	answer := connectAnswer{Client: c.Name, File: path, Outside: []outsideServer{}}
	for _, s := range outside {
		answer.Outside = append(answer.Outside, outsideServer{text.PrintableLine(s.Name), text.PrintableLine(s.At)})
	}
	if err := p.PrintAnswer(answer, "added sallyport to %s", path); err != nil || f.json {
		return err
	}
	for _, s := range answer.Outside {
		p.PrintLine("outside of the gate: %s (%s)", s.Name, s.At)
	}
	for _, err := range faults {
		p.PrintLine("not looked at: %s", text.OneLine(err.Error()))
	}
	if len(outside) > 0 {
		command := "sallyport import " + c.Name
		for _, file := range f.config {
			command += " --config " + text.ShellWord(file)
		}
		p.PrintLine("%s starts them by itself, and their calls are neither decided nor recorded. To bring them in: %s", c.Title, command)
	}
	return nil
}

// connectAnswer is the answer of connect for programs.
type connectAnswer struct {
	Client  string          `json:"client"`
	File    string          `json:"file"`
	Outside []outsideServer `json:"outside"`
}

// outsideServer is a server that the client starts by itself.
type outsideServer struct {
	Name string `json:"name"`
	At   string `json:"at"`
}

// stdioEntry returns the entry with which a client starts this server.
func stdioEntry(env *environment, configs []string, c *clients.Client, role string) (map[string]any, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if app.IsTemporary(exe) {
		exe = "sallyport" // `go run` built this binary: use the installed one
	}
	args := []string{"serve", "--stdio"}
	if role != "" {
		args = append(args, "--personality", role)
	}
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
	if c.Custom {
		entry["source"] = "custom"
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

// addEntry adds the server to the file of a client and leaves everything else
// as it is.
func (e *environment) addEntry(f *flags, c *clients.Client, path string, entry []byte) error {
	file, err := clients.Read(*c, path, e.clientFolders())
	var text []byte
	if err == nil {
		text, err = file.Connect(entry)
	}
	if err != nil {
		lines, _ := c.FormatEntry(entry) // what was encoded above is an object
		return usageError(fmt.Errorf("%w; nothing was changed. Once that is put right run the command again, or add this yourself:\n%s", err, lines))
	}
	if bytes.Equal(text, file.Text) {
		return nil // the copy holds the file as it was before the entry
	}
	_, err = copies.FolderOf(e.Home).ChangeFile(&onestep.Change{Path: file.Path, Old: file.Text, New: text}, time.Now(),
		func(changes []onestep.Change) error { return e.replaceClientFiles(f, changes) })
	return err
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
