package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox"
)

const (
	// atOnce is how many children a burst starts.
	atOnce = 64
	// rest is the pause before each start, so that no start is next to the one
	// before.
	rest = 25 * time.Millisecond
	// patience bounds the wait for helpers that are made.
	patience = 30 * time.Second
)

// way is one way of starting /bin/true.
type way struct {
	name  string
	start func() error
}

// measureChildren starts /bin/true in three ways, which take turns: with a
// helper that is made for it, with one that waits, and with bubblewrap. It
// prints the times in ns, by the name of the way: those of each start alone,
// and those of bursts.
func measureChildren(ctx context.Context, rounds int) error {
	dir, err := os.MkdirTemp("", "children")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// A child with a user of its own reads the folder as that user.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	cold, err := sandbox.New(&sandbox.Options{Warm: -1})
	if err != nil {
		return err
	}
	defer cold.Close()
	// Two helpers wait, as in the program.
	warm, err := sandbox.New(nil)
	if err != nil {
		return err
	}
	defer warm.Close()
	ways := []way{
		{"cold", func() error { return startConfined(ctx, cold, dir) }},
		{"bwrap", func() error { return startBubblewrap(ctx, dir) }},
		{"warm", func() error { return startConfined(ctx, warm, dir) }},
	}
	took := map[string][]time.Duration{}
	for _, w := range ways {
		if err := w.start(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	full := settle(0)
	for range rounds {
		for _, w := range ways {
			settle(full)
			time.Sleep(rest)
			begun := time.Now()
			if err := w.start(); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			took[w.name] = append(took[w.name], time.Since(begun))
		}
	}
	warm.KeepWarm(atOnce)
	full += atOnce - 2
	for range max(rounds/10, 2) {
		for _, w := range ways {
			settle(full)
			time.Sleep(rest)
			all, err := startAtOnce(w.start)
			if err != nil {
				return fmt.Errorf("%s, %d at once: %w", w.name, atOnce, err)
			}
			took[w.name+"-burst"] = append(took[w.name+"-burst"], all...)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(took)
}

// settle waits until this process has n descendants and their number stands
// still: then no helper is on its way, which would take its processor time from
// what is measured next. It returns their number.
func settle(n int) int {
	const still = 5
	before, same := -1, 0
	for end := time.Now().Add(patience); same < still && time.Now().Before(end); {
		now := countDescendants("self")
		if now == before && now >= n {
			same++
		} else {
			same = 0
		}
		before = now
		time.Sleep(rest / 5)
	}
	return before
}

// countDescendants returns how many processes a process has started that still
// run, with what these started.
func countDescendants(pid string) (n int) {
	files, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		for child := range strings.FieldsSeq(string(text)) {
			n += 1 + countDescendants(child)
		}
	}
	return n
}

// startAtOnce starts a burst and returns the time of each start from the moment
// at which all began.
func startAtOnce(start func() error) ([]time.Duration, error) {
	took, failed := make([]time.Duration, atOnce), make([]error, atOnce)
	var running sync.WaitGroup
	begun := time.Now()
	for i := range atOnce {
		running.Go(func() {
			failed[i] = start()
			took[i] = time.Since(begun)
		})
	}
	running.Wait()
	return took, errors.Join(failed...)
}

func startConfined(ctx context.Context, r *sandbox.Runner, dir string) error {
	child, err := r.Start(ctx, &sallyport.Spawn{Binary: "true", Workspace: dir, Grant: &sallyport.Grant{
		FS:      sallyport.FSGrant{Read: []string{dir}, Write: []string{dir}},
		Process: sallyport.ProcessGrant{Binaries: []string{"true"}},
	}})
	if err != nil {
		return err
	}
	res, err := child.Wait()
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("exit code %d: %s", res.ExitCode, res.Stderr)
	}
	return err
}

// startBubblewrap starts /bin/true with all namespaces, the init of bubblewrap
// and a tree like that of a child. Bubblewrap installs no filter of system calls
// here, and starts no proxy.
func startBubblewrap(ctx context.Context, dir string) error {
	out, err := exec.CommandContext(ctx, "bwrap", "--unshare-all", "--die-with-parent", "--new-session",
		"--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib",
		"--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
		"--bind", dir, dir, "/bin/true").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
