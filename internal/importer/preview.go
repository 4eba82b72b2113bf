package importer

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sallyport/sallyport/internal/text"
)

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
	for _, remark := range p.remarks {
		say("%s", remark)
	}
	say("%s", p.summarizeStates())
	i.printOtherFolders(p, say)
	switch {
	case p.countState(stateBlocked) > 0 && i.o.Observe, len(p.grantedServers()) == 0 && p.countState(stateBlocked) > 0:
		say("nothing was written. What is blocked needs one of the changes above, or --leave SERVER")
	case p.countState(stateBlocked) > 0:
		say("nothing was written. What is blocked stays with the client, or needs one of the changes above; next: %s", i.writeCommand("--yes"))
	case len(p.grantedServers()) > 0:
		say("nothing was written; next: %s", i.writeCommand("--yes"))
	default:
		say("nothing to import")
	}
	return nil
}

// writeCommand returns the shell command that writes what was shown, with a flag that
// says how.
func (i *clientImport) writeCommand(last string) string {
	words := []string{"import", i.o.Name}
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
		last = "--write"
		words = append(words, "--observe")
	}
	return i.env.programName() + " " + text.ShellLine(append(words, last))
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
