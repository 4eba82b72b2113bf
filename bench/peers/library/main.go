// Command library serves read_file with the packages of the gate, without the
// program around them, and measures children that it starts. It ends with its
// standard input.
//
//	library none|memory|file|durable FOLDER   over HTTP, with that record
//	library children ROUNDS                   see children.go
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/program"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/attachments"
	"github.com/sallyport/sallyport/store/memory"
	"github.com/sallyport/sallyport/store/sqlite"
	"github.com/sallyport/sallyport/tools/file"
)

func main() {
	ctx := context.Background()
	var err error
	switch {
	case len(os.Args) == 3 && os.Args[1] == "children":
		var rounds int
		if rounds, err = strconv.Atoi(os.Args[2]); err == nil {
			err = measureChildren(ctx, rounds)
		}
	case len(os.Args) == 3:
		err = serve(ctx, os.Args[1], os.Args[2])
	case len(os.Args) == 1:
		// The helper of a child is this program: it has the size of the product.
		program.Main()
	default:
		err = errors.New("usage: library none|memory|file|durable FOLDER, or library children ROUNDS")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// serve offers read_file over a folder, with the record that kind names.
func serve(ctx context.Context, kind, dir string) error {
	recorder, reads, end, err := openRecord(ctx, kind)
	if err != nil {
		return err
	}
	defer end()
	tools := file.Tools()
	i := slices.IndexFunc(tools, func(t sallyport.Tool) bool { return t.Name == "read_file" })
	tool := tools[i]
	if kind == "durable" {
		// A tool that may reach a host counts as one with effects: its intent is on
		// the disk before it runs.
		tool.Capabilities.Network = &sallyport.NetworkCapability{AllowedHosts: []string{"example.com"}}
	}
	// read_file opens attachments, too.
	attached, err := attachments.New(nil)
	if err != nil {
		return err
	}
	defer func() { _ = attached.Close() }()
	gate, err := registry.New(&sallyport.Backends{
		Personalities: newRole(dir), Files: &sallyport.FileBackend{Reads: reads}, Network: &sallyport.NetworkBackend{}, Attachments: attached,
	}, &registry.Options{Recorder: recorder, Workspace: dir})
	if err != nil {
		return err
	}
	defer func() { _ = gate.Close(ctx) }()
	if err := gate.Register(tool); err != nil {
		return err
	}
	server, err := gateway.New(gate, nil)
	if err != nil {
		return err
	}
	defer func() { _ = server.Shutdown(ctx) }()
	return listen(server.Handler())
}

// state is a store that keeps the record and what sessions have read.
type state interface {
	audit.Store
	sallyport.ReadMemory
}

// openRecord opens the record of a kind, and what remembers reads; end closes
// both.
func openRecord(ctx context.Context, kind string) (r registry.Recorder, reads sallyport.ReadMemory, end func(), err error) {
	var store state
	end = func() {}
	switch kind {
	case "none":
		return nil, nil, end, nil
	case "memory":
		if store, err = memory.New(nil); err != nil {
			return nil, nil, nil, err
		}
	case "file", "durable":
		dir, err := os.MkdirTemp("", "library")
		if err != nil {
			return nil, nil, nil, err
		}
		db, err := sqlite.Open(ctx, filepath.Join(dir, "state.db"), nil)
		if err != nil {
			return nil, nil, nil, err
		}
		store, end = db, func() {
			_ = db.Close()
			_ = os.RemoveAll(dir)
		}
	default:
		return nil, nil, nil, fmt.Errorf("no record %q", kind)
	}
	secret := make([]byte, audit.KeyBytes)
	if _, err := rand.Read(secret); err != nil {
		return nil, nil, nil, err
	}
	key, err := audit.NewKey(secret)
	if err != nil {
		return nil, nil, nil, err
	}
	l, err := audit.New(store, key, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	closeStore := end
	return l, store, func() {
		_ = l.Close()
		closeStore()
	}, nil
}

// role is the only personality.
type role sallyport.Personality

// newRole returns one that reads a folder.
func newRole(dir string) *role {
	return &role{Name: "default", FSReach: &sallyport.Reach{Read: []string{dir}}}
}

// Personality implements sallyport.Personalities. Another pointer would mean
// another personality, which the gate would look at anew in each call.
func (r *role) Personality(name string) (*sallyport.Personality, bool) {
	return (*sallyport.Personality)(r), name == r.Name
}

// listen serves on a free port of loopback behind a token, prints both and ends
// with standard input.
func listen(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	token, hash := auth.NewToken()
	owner := sallyport.Principal{Name: "bench", Permissions: []string{"file:read"}, Personalities: []string{"default"}}
	guard, err := auth.NewGuard(l.Addr().String(), auth.Single{Hash: hash, Owner: owner}, nil)
	if err != nil {
		return err
	}
	fmt.Println("http://"+l.Addr().String(), token)
	s := &http.Server{Handler: guard.Protect(h)}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Close()
	}()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
