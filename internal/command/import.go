package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/text"
)

// importFlags holds the flags of import.
type importFlags struct {
	write, observe, rollback, force bool
	role                            string
	leave, hosts, versions, plain   []string
}

func importCommand(env *environment, f *flags) *cobra.Command {
	var o importFlags
	cmd := &cobra.Command{
		Use:   "import [CLIENT|FILE]",
		Short: "Take over the MCP servers of a client",
		Long: `Take over the MCP servers that a client starts by itself, so that their calls
pass the gate. Without an argument it lists what it finds. With one it shows the
declarations that it would write, as a configuration with remarks, and changes
nothing.

With --write the servers are added to the configuration, under a personality
named like the client, and the client's file then starts this program in their
place. Copies of both files are kept in ~/.local/state/sallyport/copies;
--rollback brings the client's servers back. A value that looks like a secret is never copied: it becomes a
reference, and what to put where is printed.

Known clients: ` + strings.Join(clients.Names(), ", ") + `. A FILE is read like that of the client
it is named like.`,
		Example: `  sallyport import
  sallyport import claude-desktop
  sallyport import cursor --host github=api.github.com --write
  sallyport import --rollback cursor
  sallyport import openapi petstore.yaml --out petstore.actions.yaml`,
		Args:      cobra.ArbitraryArgs,
		ValidArgs: clients.Names(),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			switch len(args) {
			case 0:
			case 1:
				name = args[0]
			default:
				return groupCommand(cmd, args)
			}
			return env.importServers(cmd, f, &o, name)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.write, "write", false, "write the configuration and the client's file")
	flags.BoolVar(&o.observe, "observe", false, "start each server once, unconfined, and propose what it was seen to need")
	flags.BoolVar(&o.rollback, "rollback", false, "bring the client's servers back from the last copy of its file")
	flags.BoolVar(&o.force, "force", false, "with --rollback: put the copy back whole, whatever was changed since")
	flags.StringVar(&o.role, "personality", "", "the `ROLE` that may use the servers (default: named like the client)")
	flags.StringArrayVar(&o.leave, "leave", nil, "leave `SERVER` with the client, beside the gate; may be repeated")
	flags.StringArrayVar(&o.hosts, "host", nil, "`SERVER=HOST`: grant a server a host, which gets its secrets too; may be repeated")
	flags.StringArrayVar(&o.versions, "pin", nil, "`SERVER=VERSION`: the exact version of a server's package; may be repeated")
	flags.StringArrayVar(&o.plain, "plain", nil, "`SERVER=NAME`: copy the value of a variable or header that is no secret; may be repeated")
	cmd.AddCommand(importOpenAPI(env, f))
	return cmd
}

// importServers runs the action that the flags select.
func (e *environment) importServers(cmd *cobra.Command, f *flags, o *importFlags, name string) error {
	if o.rollback {
		if o.write || o.observe {
			return usageError(errors.New("import: --rollback excludes --write and --observe"))
		}
		return e.rollBack(f, o, name)
	}
	switch {
	case o.force:
		return usageError(errors.New("import: --force belongs to --rollback"))
	case name != "":
	case o.write || o.observe || len(o.leave)+len(o.hosts)+len(o.versions)+len(o.plain) > 0:
		return usageError(errors.New("import: name a client: without one, import lists what it finds"))
	default:
		e.warnOfCopies()
		return e.listClients(f)
	}
	c, files, err := e.settingsOf(name)
	if err != nil {
		return usageError(err)
	}
	for _, file := range files {
		e.warnOfCopies(file.Path)
	}
	i, err := newImporter(e, f, o, c, name)
	if err != nil {
		return usageError(err)
	}
	p, err := i.planServers(cmd.Context(), files)
	if err != nil {
		return usageError(err)
	}
	if o.write {
		return i.writePlan(cmd.Context(), p)
	}
	return i.printPreview(p)
}

// settingsOf reads the files of a client, or one file.
func (e *environment) settingsOf(name string) (clients.Client, []*clients.File, error) {
	folders := e.clientFolders()
	c, ok := clients.Find(name)
	paths := []string{}
	if ok {
		paths = c.Files(folders)
	} else {
		if !strings.ContainsAny(name, `./\`) {
			return c, nil, fmt.Errorf("client %q is not known: expected one of %s, or the path of a file", name, strings.Join(clients.Names(), ", "))
		}
		paths = append(paths, e.absolutePath(name))
		c = clients.Of(paths[0], folders)
	}
	var files []*clients.File
	for _, path := range paths {
		file, err := clients.Read(c, path, folders)
		if err != nil {
			return c, nil, fmt.Errorf("%w; nothing was changed", err)
		}
		if file.Text != nil {
			files = append(files, file)
			c = file.Client // the file has told which key it uses
		}
	}
	if len(files) == 0 {
		return c, nil, fmt.Errorf("%s has no settings here: looked for %s", c.Title, strings.Join(paths, " and "))
	}
	return c, files, nil
}

// foundClient is one file as `import` lists it.
type foundClient struct {
	Client    string   `json:"client"`
	File      string   `json:"file"`
	Servers   []string `json:"servers"`
	Connected bool     `json:"connected"`
	Error     string   `json:"error,omitempty"`
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// listClients lists the files of known clients that exist.
func (e *environment) listClients(f *flags) error {
	folders := e.clientFolders()
	found := []foundClient{}
	for _, c := range clients.Known() {
		for _, path := range c.Files(folders) {
			file, err := clients.Read(c, path, folders)
			if err == nil && file.Text == nil {
				continue
			}
			one := foundClient{Client: c.Name, File: path, Servers: []string{}}
			if err != nil {
				one.Error = err.Error()
			} else {
				one.Connected, one.Elsewhere = file.Connected(), file.Elsewhere
				for _, s := range file.Servers() {
					one.Servers = append(one.Servers, text.PrintableLine(s.Name))
				}
			}
			found = append(found, one)
		}
	}
	p := e.newPrinter(f)
	if p.json {
		return p.printJSON(found)
	}
	printFound(p, found)
	return nil
}

func printFound(p *printer, found []foundClient) {
	if len(found) == 0 {
		p.printLine("no settings of a known client here: known are %s", strings.Join(clients.Names(), ", "))
		return
	}
	rows := [][]string{{"CLIENT", "SERVERS", "FILE"}}
	var remarks []string
	next := ""
	for _, c := range found {
		servers := strings.Join(c.Servers, ", ")
		switch {
		case c.Error != "":
			servers = "cannot be read"
			remarks = append(remarks, c.Error)
		case c.Connected && servers == "":
			servers = "sallyport alone"
		case c.Connected:
			servers += ", and sallyport"
		case servers == "":
			servers = "none"
		}
		if len(c.Servers) > 0 && next == "" {
			next = c.Client
		}
		if len(c.Elsewhere) > 0 {
			remarks = append(remarks, fmt.Sprintf("%s has servers for %d other folders too: run this there", c.File, len(c.Elsewhere)))
		}
		rows = append(rows, []string{c.Client, servers, c.File})
	}
	p.printTable(rows)
	for _, r := range slices.Compact(remarks) {
		p.printLine("%s", text.OneLine(r))
	}
	if next != "" {
		p.printLine("next: sallyport import %s", next)
	}
}

// valuesOf parses a list of NAME=VALUE.
func valuesOf(flag string, list []string) (map[string][]string, error) {
	values := map[string][]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--%s %s: expected SERVER=%s", flag, s, map[string]string{"host": "HOST", "pin": "VERSION"}[flag])
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}
