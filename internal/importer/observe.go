package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/install"
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/sandbox"
)

const (
	// observeWait bounds one observed run. A launcher that first fetches its
	// package needs most of it.
	observeWait = 2 * time.Minute
	// leaveWait is the time that a server has to end after its input ends.
	leaveWait = 3 * time.Second
)

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
			p.addNote("and %d more that no declaration gives", len(seen.Withheld)-k)
			break
		}
		p.addNote("it used what no declaration gives: %s %s: %s", w.Kind, i.redactSecrets(p, w.Item), w.Why)
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

// watchServer runs a server until it has listed what it offers.
func (i *clientImport) watchServer(ctx context.Context, p *plannedServer) (*sandbox.Observation, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := openStreams()
	if err != nil {
		return nil, err
	}
	opts := &sandbox.ObserveOptions{
		Workspace: cmp.Or(i.clientFolder(p), i.config.Workspace), Home: i.env.Home, Env: i.clientVariables(p),
		Stdin: s.in, Stdout: s.out, Stderr: s.errs, Toolchains: sandbox.Toolchains(i.env.Home),
		Files: &sallyport.FileBackend{Home: i.env.Home, Deny: i.config.Files},
	}
	type end struct {
		seen *sandbox.Observation
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		seen, err := sandbox.Observe(ctx, p.entry.Command, opts)
		s.closeServerEnds()
		ended <- end{seen, err}
	}()
	talkErr := i.listTools(ctx, &mcp.IOTransport{Reader: s.fromServer, Writer: s.toServer})
	timer := time.AfterFunc(leaveWait, cancel)
	defer timer.Stop()
	e := <-ended
	tail := <-s.stderrTail
	if e.err != nil {
		return nil, e.err
	}
	if talkErr != nil {
		return nil, fmt.Errorf("it did not say what it offers (exit code %d): %w%s", e.seen.ExitCode, talkErr, tail)
	}
	return e.seen, nil
}

// watchedStreams holds the standard streams of an observed server and their other
// ends.
type watchedStreams struct {
	in, out, errs        *os.File
	toServer, fromServer *os.File
	// stderrTail receives the end of what the server wrote to standard error.
	stderrTail chan string
}

func openStreams() (*watchedStreams, error) {
	s := &watchedStreams{stderrTail: make(chan string, 1)}
	var fromErrs *os.File
	for _, pair := range [][2]**os.File{{&s.in, &s.toServer}, {&s.fromServer, &s.out}, {&fromErrs, &s.errs}} {
		r, w, err := os.Pipe()
		if err != nil {
			s.closeServerEnds()
			return nil, errors.Join(err, s.toServer.Close(), s.fromServer.Close())
		}
		*pair[0], *pair[1] = r, w
	}
	go func() {
		defer fromErrs.Close()
		s.stderrTail <- readTail(fromErrs)
	}()
	return s, nil
}

// closeServerEnds closes the server's ends. The error of a file that was never opened
// does not matter.
func (s *watchedStreams) closeServerEnds() {
	for _, f := range []*os.File{s.in, s.out, s.errs} {
		_ = f.Close()
	}
}

// readTail reads to the end and returns the last part of the text.
func readTail(r io.Reader) string {
	const kept = 300
	var end []byte
	for buf := make([]byte, 4096); ; {
		n, err := r.Read(buf)
		if end = append(end, buf[:n]...); len(end) > kept {
			end = slices.Clone(end[len(end)-kept:])
		}
		if err != nil {
			break
		}
	}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(end), "")); text != "" {
		return "; it wrote: " + text
	}
	return ""
}

// listTools talks to a server until it has listed its tools, then ends the
// server's input.
func (i *clientImport) listTools(ctx context.Context, t mcp.Transport) error {
	session, err := mcp.NewClient(&mcp.Implementation{Name: clients.Own, Version: i.env.Version}, nil).Connect(ctx, t, nil)
	if err != nil {
		return err
	}
	// The server has answered: the way in which it closes does not matter.
	defer session.Close()
	_, err = session.ListTools(ctx, nil)
	return err
}

// clientVariables returns the variables that the client sets, secrets included, so
// that the server behaves as it does there.
func (i *clientImport) clientVariables(p *plannedServer) map[string]string {
	env := map[string]string{}
	for _, v := range p.from.Env {
		text, refs := i.client.Expand(v.Value, i.env.Home, p.from.Project)
		for _, r := range refs {
			value, _ := i.env.Lookup(r.Name)
			text = strings.Replace(text, r.Text, cmp.Or(value, r.Default), 1)
		}
		env[v.Name] = text
	}
	return env
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
