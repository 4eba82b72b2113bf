package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/copies"
	"github.com/sallyport/sallyport/internal/onestep"
	"github.com/sallyport/sallyport/internal/text"
)

// Connection is an entry for the file of a client, with which the client starts this
// program.
type Connection struct {
	env    *Environment
	client *clients.Client
	path   string // of the client's file
	entry  map[string]any
	value  []byte // the entry as JSON
}

// NewConnection returns the entry for a client that starts this program in a role.
// An empty role is the one that the client's entry for the same configuration has, else
// that of callers that name none.
func NewConnection(e *Environment, c *clients.Client, role string) (*Connection, error) {
	named := role
	if role == "" {
		role = e.connectedRole(c)
	}
	entry, err := e.clientEntry(c, role, e.ConfigFiles)
	if err == nil && named != "" {
		err = e.checkRole(named)
	}
	if err != nil {
		return nil, err
	}
	value, err := json.Marshal(entry)
	return &Connection{env: e, client: c, path: c.Main(e.Folders), entry: entry, value: value}, err
}

// checkRole returns an error where the configuration has no such role: the client would
// start a server that ends at once, and show no reason.
func (e *Environment) checkRole(role string) error {
	c, err := e.LoadConfig()
	if err != nil {
		return err
	}
	_, err = c.Choose(role)
	return err
}

// connectedRole returns the role of the entry that a client has for these configuration
// files; empty where it has none.
func (e *Environment) connectedRole(c *clients.Client) string {
	for _, path := range c.Files(e.Folders) {
		file, err := clients.Read(*c, path, e.Folders)
		if err != nil {
			continue // to write into the file says why
		}
		for i := range file.Sections {
			if role, configs := readOwnArgs(file.Sections[i].OwnArgs); role != "" && slices.Equal(configs, e.ConfigFiles) {
				return role
			}
		}
	}
	return ""
}

// otherConfigs returns the configuration files of the entry that a client's file has for
// this program, when they are others than those of this connection.
func (e *Environment) otherConfigs(c *clients.Client, path string) []string {
	file, err := clients.Read(*c, path, e.Folders)
	if err != nil {
		return nil // to write into the file says why
	}
	for i := range file.Sections {
		if _, configs := readOwnArgs(file.Sections[i].OwnArgs); len(configs) > 0 && !slices.Equal(configs, e.ConfigFiles) {
			return configs
		}
	}
	return nil
}

// readOwnArgs returns what the arguments of an entry say about role and configuration.
func readOwnArgs(args []string) (role string, configs []string) {
	for i := 1; i < len(args); i++ {
		switch args[i-1] {
		case "--personality":
			role = args[i]
		case "--config":
			configs = append(configs, args[i])
		}
	}
	return role, configs
}

// Print prints the entry as the client's file takes it.
func (c *Connection) Print() error {
	fmt.Fprintf(c.env.Err, "for %s\n", c.path)
	if !c.client.TOML || c.env.JSON {
		return c.env.printJSON(map[string]any{c.client.Key: map[string]any{clients.Own: c.entry}})
	}
	lines, err := c.client.FormatEntry(c.value)
	if err == nil {
		_, err = io.WriteString(c.env.Out, lines)
	}
	return err
}

// Write adds the entry to the client's file, and names the servers that the client
// starts by itself. The error is *NotConnected where the file cannot take the entry.
func (c *Connection) Write() error {
	c.env.FinishStep()
	replaced := c.env.otherConfigs(c.client, c.path)
	if err := c.addEntry(); err != nil {
		return err
	}
	outside, faults := c.client.Outside(c.env.Folders)
	answer := connectAnswer{Client: c.client.Name, File: c.path, Replaced: replaced, Outside: []outsideServer{}}
	for _, s := range outside {
		answer.Outside = append(answer.Outside, outsideServer{text.PrintableLine(s.Name), text.PrintableLine(s.At)})
	}
	if c.env.JSON {
		return c.env.printJSON(answer)
	}
	c.env.printLine("added sallyport to %s", c.path)
	if len(replaced) > 0 {
		c.env.printLine("this replaces the entry for %s: the client starts one sallyport for all that this file counts for", text.PrintableLine(strings.Join(replaced, ", ")))
	}
	for _, s := range answer.Outside {
		c.env.printLine("outside of the gate: %s (%s)", s.Name, s.At)
	}
	for _, err := range faults {
		c.env.printLine("not looked at: %s", text.OneLine(err.Error()))
	}
	if len(outside) > 0 {
		command := c.env.programName() + " import " + c.client.Name + text.RepeatFlag("config", c.env.ConfigFlags)
		c.env.printLine("%s starts them by itself, and their calls are neither decided nor recorded. To bring them in: %s", c.client.Title, command)
	}
	return nil
}

// connectAnswer is the answer of a connection for programs.
type connectAnswer struct {
	Client string `json:"client"`
	File   string `json:"file"`
	// Replaced are the configuration files of the entry that was there, when it had others.
	Replaced []string        `json:"replaced,omitempty"`
	Outside  []outsideServer `json:"outside"`
}

// outsideServer is a server that the client starts by itself.
type outsideServer struct {
	Name string `json:"name"`
	At   string `json:"at"`
}

// NotConnected says why a client's file was left as it is, and what to add to it.
type NotConnected struct {
	// Err is why the file cannot take the entry.
	Err error
	// Lines are the entry as the file takes it.
	Lines string
}

// Error says both.
func (n *NotConnected) Error() string {
	return fmt.Sprintf("%v; nothing was changed. Once that is put right run the command again, or add this yourself:\n%s", n.Err, n.Lines)
}

// Unwrap returns Err.
func (n *NotConnected) Unwrap() error { return n.Err }

// addEntry adds the entry to the client's file and leaves everything else as it is.
func (c *Connection) addEntry() error {
	file, err := clients.Read(*c.client, c.path, c.env.Folders)
	var text []byte
	if err == nil {
		text, err = file.Connect(c.value)
	}
	if err != nil {
		lines, _ := c.client.FormatEntry(c.value) // what was encoded above is an object
		return &NotConnected{err, lines}
	}
	if bytes.Equal(text, file.Text) {
		return nil // the copy holds the file as it was before the entry
	}
	_, err = copies.FolderOf(c.env.Home).ChangeFile(&onestep.Change{Path: file.Path, Old: file.Text, New: text}, time.Now(), c.env.Replace)
	return err
}

// clientEntry returns the entry with which a client starts this program with
// configuration files.
func (e *Environment) clientEntry(c *clients.Client, role string, configs []string) (map[string]any, error) {
	exe, err := e.Program()
	if err != nil {
		return nil, err
	}
	args := []string{"serve", "--stdio"}
	if role != "" {
		args = append(args, "--personality", role)
	}
	if len(configs) == 0 {
		return nil, fmt.Errorf("no %s in %s: run '%s init' first; otherwise the folder of the client decides which file counts", config.FileName, e.Dir, e.programName())
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
