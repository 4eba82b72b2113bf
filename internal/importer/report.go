package importer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

// reportedServer is a server as `import --json` reports it.
type reportedServer struct {
	Name        string         `json:"name"`
	Client      string         `json:"client_name,omitempty"`
	At          string         `json:"at"`
	State       serverState    `json:"state"`
	Why         []string       `json:"why,omitempty"`
	Notes       []string       `json:"notes,omitempty"`
	Secrets     []neededSecret `json:"secrets,omitempty"`
	Declaration *serverEntry   `json:"declaration,omitempty"`
}

// planReport is the JSON answer of import.
type planReport struct {
	Client      string           `json:"client"`
	Personality string           `json:"personality"`
	Servers     []reportedServer `json:"servers"`
	// Config is the complete configuration text. It is empty after a write.
	Config string `json:"config,omitempty"`
	// Wrote and Copies list what a write changed.
	Wrote  []string `json:"wrote,omitempty"`
	Copies []string `json:"copies,omitempty"`
}

func (i *clientImport) newReport(p *serverPlan) *planReport {
	r := &planReport{Client: i.client.Name, Personality: p.role, Servers: []reportedServer{}}
	for _, s := range p.servers {
		one := reportedServer{Name: s.name, At: s.from.At, State: s.state, Why: s.why, Notes: s.notes, Secrets: s.secrets}
		if s.from.Name != s.name {
			one.Client = text.PrintableLine(s.from.Name)
		}
		if s.state == stateReady {
			one.Declaration = &s.entry
		}
		r.Servers = append(r.Servers, one)
	}
	return r
}

// PreviewServers prints what WriteServers would write, as a configuration with
// remarks. It changes nothing.
func PreviewServers(ctx context.Context, e *Environment, o *Options) error {
	i, p, err := planImport(ctx, e, o)
	if err != nil {
		return err
	}
	return i.printPreview(p)
}

// printPreview prints a plan as a configuration.
func (i *clientImport) printPreview(p *serverPlan) error {
	var titles []string
	for _, f := range p.files {
		titles = append(titles, f.Path)
	}
	text, err := p.renderDocument(strings.Join(titles, " and "))
	if err != nil {
		return err
	}
	if i.env.JSON {
		r := i.newReport(p)
		r.Config = text
		return i.env.printJSON(r)
	}
	if _, err := io.WriteString(i.env.Out, text); err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(i.env.Err, format+"\n", args...) }
	say("%s", p.summarizeStates())
	i.printOtherFolders(p, say)
	switch {
	case p.countState(stateBlocked) > 0:
		say("nothing was written. What is blocked needs one of the changes above, or --leave SERVER")
	case len(p.grantedServers()) > 0:
		say("nothing was written; next: %s", i.writeCommand())
	default:
		say("nothing to import")
	}
	return nil
}

// writeCommand returns the shell command that writes what was shown.
func (i *clientImport) writeCommand() string {
	words := []string{"sallyport", "import", i.o.Name}
	add := func(flag string, values ...string) {
		for _, v := range values {
			words = append(words, "--"+flag, v)
		}
	}
	add("config", i.env.ConfigFlags...)
	if i.o.Personality != "" {
		add("personality", i.o.Personality)
	}
	add("leave", i.o.Leave...)
	add("plain", i.o.Plain...)
	add("host", i.o.Hosts...)
	add("pin", i.o.Pins...)
	if i.o.Observe {
		words = append(words, "--observe")
	}
	for k := range words {
		words[k] = text.ShellWord(words[k])
	}
	return strings.Join(append(words, "--write"), " ")
}

// printOtherFolders names the servers that the files declare for other folders.
func (i *clientImport) printOtherFolders(p *serverPlan, say func(string, ...any)) {
	for _, f := range p.files {
		for k, dir := range f.Elsewhere {
			if k == 5 {
				say("and for %d other folders", len(f.Elsewhere)-k)
				break
			}
			say("%s has servers for %s too: run this there", f.Path, text.PrintableLine(dir))
		}
	}
}

// summarizeStates counts the servers by their outcome.
func (p *serverPlan) summarizeStates() string {
	parts := []string{}
	for _, s := range []struct {
		state serverState
		text  string
	}{
		{stateReady, "ready"},
		{stateDeclared, "declared already"},
		{stateLeft, "left with the client"},
		{stateBlocked, "blocked"},
	} {
		if n := p.countState(s.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	if len(parts) == 0 {
		return "no servers but this one"
	}
	return "servers: " + strings.Join(parts, ", ")
}
