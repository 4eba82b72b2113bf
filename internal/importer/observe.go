package importer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/sandbox"
)

// observeWait bounds one observed run. A launcher that first fetches its
// package needs most of it.
const observeWait = 2 * time.Minute

// registries lists the hosts from which package launchers fetch. An installed
// server does not need them.
var registries = []string{"registry.npmjs.org", "pypi.org", "files.pythonhosted.org"}

// observeServer starts a server as the client does, asks what it offers, and adds
// what it used to the proposal.
func (i *clientImport) observeServer(ctx context.Context, p *plannedServer) {
	if len(p.entry.Command) == 0 {
		p.addNote("not observed: it runs elsewhere")
		return
	}
	fmt.Fprintf(i.env.Err, "observing %s: it runs as the client runs it, unconfined\n", p.name)
	ctx, cancel := context.WithTimeout(ctx, observeWait)
	defer cancel()
	seen, err := i.watchServer(ctx, p)
	if err != nil {
		p.addNote("not observed: %s", i.redactSecrets(p, err.Error()))
		return
	}
	p.addNote("observed while it started and listed its tools: what their calls need was not seen")
	p.observed = true
	p.dropGuessedFolder()
	i.addObservedUse(p, seen)
	for k, w := range seen.Withheld {
		if k == 5 {
			p.addNote("and %d more that no declaration grants", len(seen.Withheld)-k)
			break
		}
		p.addNote("it used something that no declaration grants: %s %s: %s", w.Kind, i.redactSecrets(p, w.Item), w.Why)
	}
	if seen.AllowPrivate {
		p.addNote("it reached a private address, for which the personality needs allow_private_urls")
	}
}

// addObservedUse adds what a server used to the proposal.
func (i *clientImport) addObservedUse(p *plannedServer, seen *sandbox.Observation) {
	c, hosts := &p.entry.Capabilities, seen.Capabilities.Network
	_, _, launched := install.Parse(p.entry.Command)
	if hosts != nil {
		list := slices.DeleteFunc(slices.Clone(hosts.AllowedHosts), func(host string) bool {
			return !errors.Is(launched, install.ErrNotLauncher) && slices.Contains(registries, host)
		})
		i.addObservedHosts(p, list)
	}
	if fs := seen.Capabilities.FSReach; fs != nil {
		c.FSReach = joinPaths(c.FSReach, &sallyport.FSCapability{
			Read: sallyport.Paths(i.spellPaths(p, fs.Read.Paths)...), Write: sallyport.Paths(i.spellPaths(p, fs.Write.Paths)...),
		})
	}
	if pr := seen.Capabilities.Process; pr != nil && len(pr.ExecFrom) > 0 {
		c.Process = &sallyport.ProcessCapability{AllowedBinaries: pr.AllowedBinaries, ExecFrom: i.spellPaths(p, pr.ExecFrom)}
	}
}

// dropGuessedFolder withdraws the guess about the folder of a program: the observation
// shows what the program loads.
func (p *plannedServer) dropGuessedFolder() {
	fs := p.entry.Capabilities.FSReach
	if fs == nil || p.guessedFolder == "" {
		return
	}
	fs.Read.Paths = slices.DeleteFunc(fs.Read.Paths, func(path string) bool { return path == p.guessedFolder })
	if len(fs.Read.Paths) == 0 {
		p.entry.Capabilities.FSReach = nil
	}
}

// spellPaths returns paths in the spelling of the configuration. Its workspace may
// differ from the folder in which the server was observed.
func (i *clientImport) spellPaths(p *plannedServer, paths []string) []string {
	out := slices.Clone(paths)
	base := i.clientFolder(p)
	if base == "" || base == i.config.Workspace {
		return out
	}
	for k := range out {
		if rest, ok := strings.CutPrefix(out[k], "${workspace}"); ok {
			out[k] = base + rest
		}
	}
	return out
}

// addObservedHosts proposes the hosts that the server reached. It only names them
// in a note where a secret would go to them.
func (i *clientImport) addObservedHosts(p *plannedServer, hosts []string) {
	switch {
	case len(hosts) == 0:
	case p.state != stateReady:
		p.addNote("it was seen to reach %s", strings.Join(hosts, ", "))
	default:
		c := &p.entry.Capabilities
		if c.Network == nil {
			c.Network = &sallyport.NetworkCapability{}
		}
		for _, h := range hosts {
			if !slices.Contains(c.Network.AllowedHosts, h) {
				c.Network.AllowedHosts = append(c.Network.AllowedHosts, h)
			}
		}
	}
}

// joinPaths returns the paths of both lists.
func joinPaths(a, b *sallyport.FSCapability) *sallyport.FSCapability {
	if a == nil {
		a = &sallyport.FSCapability{}
	}
	add := func(to, from sallyport.PathList) sallyport.PathList {
		list := slices.Clone(to.Paths)
		for _, path := range from.Paths {
			if !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
		return sallyport.PathList{Paths: list}
	}
	return &sallyport.FSCapability{Read: add(a.Read, b.Read), Write: add(a.Write, b.Write)}
}

// redactSecrets removes the secrets that a server was given from what it
// wrote.
func (i *clientImport) redactSecrets(p *plannedServer, text string) string {
	values := i.clientVariables(p)
	for _, v := range p.from.Env {
		// Treat the value of a reference as a secret wherever it appears.
		if value := values[v.Name]; value != "" && (value != v.Value || !clients.Harmless(v.Name, value)) {
			text = strings.ReplaceAll(text, value, "[redacted]")
		}
	}
	return text
}
