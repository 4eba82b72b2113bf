package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// bench is one run: a temporary folder, the programs in it, and what runs.
type bench struct {
	settings
	dir     string
	mu      sync.Mutex
	built   map[string]string
	running []*process
}

func newBench(s settings) (*bench, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	// A child with a user of its own starts its helper as that user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	return &bench{settings: s, dir: dir, built: map[string]string{}}, nil
}

// close ends what still runs and removes the folder.
func (b *bench) close(err *error) {
	b.stopAll()
	*err = errors.Join(*err, os.RemoveAll(b.dir))
}

// build returns a program, which it builds once with the settings of `make
// build`.
func (b *bench) build(ctx context.Context, pkg string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if path, ok := b.built[pkg]; ok {
		return path, nil
	}
	path := filepath.Join(b.dir, filepath.Base(pkg))
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if pkg == product {
		// As a dependency of this module it would be another build.
		root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/sallyport/sallyport").Output()
		if err != nil {
			return "", fmt.Errorf("go list: %w", err)
		}
		cmd.Dir = strings.TrimSpace(string(root))
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	b.built[pkg] = path
	return path, nil
}

// The programs that are built.
const (
	product = "./cmd/sallyport" // of the parent module
	peer    = "./peer"
	library = "./library"
)

const (
	// readName and readText are the file of about 1 kB that calls read, and a word
	// in it.
	readName = "file.txt"
	readText = "gate"
)

// newWorkspace returns a folder with the file that calls read, as `sallyport
// init` leaves it.
func (b *bench) newWorkspace(ctx context.Context) (string, error) {
	program, err := b.build(ctx, product)
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(b.dir, "workspace")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	text := strings.Repeat("A line about the "+readText+", of 32 bytes.\n", 1+1024/39)
	if err := os.WriteFile(filepath.Join(dir, readName), []byte(text), 0o644); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Join(dir, "home", "tmp"), 0o700); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, program, "init")
	cmd.Dir, cmd.Env = dir, environment(dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("sallyport init: %w\n%s", err, out)
	}
	return dir, nil
}

// environment gives a program a home and a folder for temporary files in its
// workspace.
func environment(dir string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "home", "tmp"),
	}
}

// stopAll ends what runs. An error shows when the bench ends.
func (b *bench) stopAll() {
	for _, p := range b.running {
		if err := p.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	b.running = nil
}
