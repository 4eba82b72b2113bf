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
	"github.com/sallyport/sallyport/internal/clients"
	"github.com/sallyport/sallyport/internal/serverlist"
	"github.com/sallyport/sallyport/sandbox"
)

// leaveWait is the time that a server has to end after its input ends.
const leaveWait = 3 * time.Second

// clientVariables returns the variables that the client sets, secrets included, so
// that the server behaves as it does there.
func (i *clientImport) clientVariables(p *plannedServer) map[string]string {
	env := map[string]string{}
	for _, v := range p.from.Env {
		text, refs := i.client.ExpandPair(v, i.env.Home, p.from.Project)
		for _, r := range refs {
			value, _ := i.env.Lookup(r.Name)
			text = strings.Replace(text, r.Text, cmp.Or(value, r.Default), 1)
		}
		env[v.Name] = text
	}
	return env
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
		Stdin: s.in, Stdout: s.out, Stderr: s.errs, Toolchains: sandbox.Toolchains(i.env.Home), Network: &sallyport.NetworkBackend{
			RefuseAddress: serverlist.NewListeners(serverlist.FolderOf(i.env.Lookup, i.env.Home), nil).Refuse,
		},
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
