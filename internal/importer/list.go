package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/text"
)

// foundClient is one file as `import` lists it.
type foundClient struct {
	Client    string   `json:"client"`
	File      string   `json:"file"`
	Servers   []string `json:"servers"`
	Connected bool     `json:"connected"`
	Error     string   `json:"error,omitempty"`
	Elsewhere []string `json:"elsewhere,omitempty"`
}

// ListClients lists the files of known clients that exist, with their servers.
func ListClients(e *Environment) error {
	e.warnOfCopies()
	found := []foundClient{}
	for _, c := range clients.Known() {
		for _, path := range c.Files(e.Folders) {
			file, err := clients.Read(c, path, e.Folders)
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
	if e.JSON {
		return e.printJSON(found)
	}
	e.printFound(found)
	return nil
}

func (e *Environment) printFound(found []foundClient) {
	if len(found) == 0 {
		e.printLine("no settings of a known client here: known are %s", strings.Join(clients.Names(), ", "))
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
	fmt.Fprint(e.Out, text.Table(rows))
	for _, r := range slices.Compact(remarks) {
		e.printLine("%s", text.OneLine(r))
	}
	if next != "" {
		e.printLine("next: %s import %s", e.programName(), next)
	}
}
