package importer

import (
	"fmt"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
)

// clientImport is the import of the servers of one client.
type clientImport struct {
	env    *Environment
	o      *Options
	client clients.Client
	// config is the configuration in force, to which the servers are added.
	config *config.Config
	// hosts, pins and plains hold the values of the flags by server.
	hosts  map[string][]string
	pins   map[string][]string
	plains map[string][]string
	// byName holds the servers that were planned so far.
	byName map[string]*plannedServer
	// tried is true when the servers were started, and are pinned.
	tried bool
}

// newClientImport returns the import of the client that the options name, and the
// files of that client.
func newClientImport(e *Environment, o *Options) (*clientImport, []*clients.File, error) {
	e.FinishStep()
	c, files, err := e.readSettings(o.Name)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range files {
		e.warnOfCopies(file.Path)
	}
	i := &clientImport{env: e, o: o, client: c, byName: map[string]*plannedServer{}}
	if i.config, err = e.LoadConfig(); err != nil {
		return nil, nil, err
	}
	if i.hosts, err = parsePairs("host", o.Hosts); err != nil {
		return nil, nil, err
	}
	if i.plains, err = parsePairs("plain", o.Plain); err != nil {
		return nil, nil, err
	}
	i.pins, err = parsePairs("pin", o.Pins)
	return i, files, err
}

// parsePairs returns the values of a flag by server. Each item is SERVER=VALUE.
func parsePairs(flag string, list []string) (map[string][]string, error) {
	values := map[string][]string{}
	for _, s := range list {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("--%s %s: expected SERVER=%s", flag, s, map[string]string{"host": "HOST", "pin": "VERSION", "plain": "NAME"}[flag])
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}

// readSettings finds the client of a name, or of the path of a file, and reads
// its files.
func (e *Environment) readSettings(name string) (clients.Client, []*clients.File, error) {
	c, ok := clients.Find(name)
	paths := []string{}
	if ok {
		paths = c.Files(e.Folders)
	} else {
		if !strings.ContainsAny(name, `./\`) {
			return c, nil, fmt.Errorf("client %q is not known: expected one of %s, or the path of a file", name, strings.Join(clients.Names(), ", "))
		}
		paths = append(paths, fsx.Absolute(e.Dir, name))
		c = clients.Of(paths[0], e.Folders)
	}
	var files []*clients.File
	for _, path := range paths {
		file, err := clients.Read(c, path, e.Folders)
		if err != nil {
			return c, nil, fmt.Errorf("%w; nothing was changed", err)
		}
		if file.Text != nil {
			files = append(files, file)
			c = file.Client // the file shows which key it uses
		}
	}
	if len(files) == 0 {
		return c, nil, e.describeMissing(&c, ok, paths)
	}
	return c, files, nil
}

// describeMissing returns the error for a client without settings: a known one can be
// connected all the same.
func (e *Environment) describeMissing(c *clients.Client, known bool, paths []string) error {
	err := fmt.Errorf("%s has no settings here: looked for %s", c.Title, strings.Join(paths, " and "))
	if !known {
		return err
	}
	first := ""
	if len(e.ConfigFiles) == 0 {
		first = "sallyport init, then "
	}
	return fmt.Errorf("%w. Without servers to take over, give the client this gate: %ssallyport connect %s", err, first, c.Name)
}

// clientFolder returns the folder in which the client starts a server, or an empty path
// when it is not known.
func (i *clientImport) clientFolder(p *plannedServer) string {
	if p.entry.Cwd != "" {
		return p.entry.Cwd
	}
	return p.from.Project
}
