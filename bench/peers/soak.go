package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// soakClients is how many callers each way has.
	soakClients = 4
	// sessionCalls is how many calls a caller makes before it ends its session and
	// begins another: sessions have to be given back, too.
	sessionCalls = 500
	// sampleEvery is the time between two lines.
	sampleEvery = 10 * time.Second
	// probeTime is how long the capacity of a way is measured.
	probeTime = 3 * time.Second
	// filledSessions each get a text of filledChars from a mounted server: more than
	// the gate remembers of untrusted texts, which is bounded by bytes.
	filledSessions, filledChars = 1000, 39_000
)

// soakWay is one way of calling the program, with how many calls it has made.
type soakWay struct {
	target
	rate float64
	made atomic.Int64
}

// soak keeps the default installation under a share of its load: read_file over
// HTTP and over stdio, in two processes with one state, and tools of two mounted
// servers. It fails when something grew beyond its bound.
func (b *bench) soak(ctx context.Context, length time.Duration, share float64) error {
	m, err := b.mount(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("measuring the capacity of each way for %v, all at once\n", probeTime)
	rates, err := b.probe(ctx, m)
	if err != nil {
		return err
	}
	// The goroutines after that load are what those after the soak are compared
	// with. Asking for them ends the process.
	goroutines, err := m.countGoroutines()
	if err != nil {
		return err
	}
	if err := m.startGate(ctx, b); err != nil {
		return err
	}
	fmt.Printf("filling what is bounded by bytes: a mounted server answers %d characters to each of %d sessions\n", filledChars, filledSessions)
	if err := m.fillSessions(ctx); err != nil {
		return err
	}
	ways, lines, err := b.openWays(ctx, m)
	if err != nil {
		return err
	}
	fmt.Printf("%.2f of it for %v:", share, length)
	for i, w := range ways {
		w.rate = rates[i] * share
		fmt.Printf(" %s %.0f calls/s;", w.name, w.rate)
	}
	fmt.Println()
	samples, err := b.load(ctx, ways, length, &sampler{dir: m.dir, pids: []int{m.serve.pid(), lines.pid()}, ways: ways})
	if err != nil {
		return err
	}
	// Connections that the callers have closed end on the other side, too.
	time.Sleep(time.Second)
	after, err := m.countGoroutines()
	if err != nil {
		return err
	}
	if err := lines.stop(); err != nil {
		return err
	}
	return judge(os.Stdout, samples, goroutines, after)
}

// fillSessions has a mounted server answer long texts to many sessions, so that what the gate
// remembers of untrusted texts has reached its bound before its memory is looked at.
func (m *mounts) fillSessions(ctx context.Context) error {
	var text strings.Builder
	for n := 0; text.Len() < filledChars; n++ {
		fmt.Fprintf(&text, "sentence %d of a long text about the %s. ", n, readText)
	}
	t := overHTTP("HTTP", m.serve, m.url, m.token, "mcp__near__echo", `{"text":"`+text.String()+`"}`)
	for range filledSessions {
		c, err := t.open(ctx)
		if err == nil {
			err = errors.Join(c.call(), c.close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openWays starts the second process and returns the ways of calling both.
func (b *bench) openWays(ctx context.Context, m *mounts) (ways []*soakWay, lines *process, err error) {
	if lines, err = b.startStdio(ctx, m.dir, stdioServers[0]); err != nil {
		return nil, nil, err
	}
	overLines, err := overStdio("stdio", lines, "read_file", readArgs)
	if err != nil {
		return nil, nil, err
	}
	near, far := m.gatedNear, m.gatedFar
	near.name, far.name = "mounted on stdio", "mounted over HTTP"
	for _, t := range []target{overHTTP("HTTP", m.serve, m.url, m.token, "read_file", readArgs), overLines, near, far} {
		ways = append(ways, &soakWay{target: t})
	}
	return ways, lines, nil
}

// probe returns how many calls a second each way makes when all are busy.
func (b *bench) probe(ctx context.Context, m *mounts) ([]float64, error) {
	ways, lines, err := b.openWays(ctx, m)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	if err := runWays(ctx, ways); err != nil {
		return nil, err
	}
	rates := make([]float64, len(ways))
	for i, w := range ways {
		rates[i] = float64(w.made.Load()) / probeTime.Seconds()
	}
	return rates, lines.stop()
}

// runWays keeps the callers of all ways at their rates, 0 for as fast as they
// can, until the context ends.
func runWays(ctx context.Context, ways []*soakWay) error {
	failed := make([]error, len(ways)*soakClients)
	var running sync.WaitGroup
	for i, w := range ways {
		var next atomic.Int64
		begun := time.Now()
		for k := range soakClients {
			running.Go(func() {
				if err := w.callUntilDone(ctx, begun, &next); err != nil {
					failed[i*soakClients+k] = fmt.Errorf("%s: %w", w.name, err)
				}
			})
		}
	}
	running.Wait()
	return errors.Join(failed...)
}

// callUntilDone makes the calls of one caller, a session after the other.
func (w *soakWay) callUntilDone(ctx context.Context, begun time.Time, next *atomic.Int64) (err error) {
	for ctx.Err() == nil {
		c, err := w.open(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		for n := 0; n < sessionCalls && ctx.Err() == nil; n++ {
			if w.rate > 0 {
				planned := begun.Add(time.Duration(float64(next.Add(1)-1) / w.rate * float64(time.Second)))
				select {
				case <-time.After(time.Until(planned)):
				case <-ctx.Done():
					continue
				}
			}
			if err := c.call(); err != nil {
				return errors.Join(err, c.close())
			}
			w.made.Add(1)
		}
		if err := c.close(); err != nil {
			return err
		}
	}
	return nil
}

// load runs the ways for a time and prints a line at each sample.
func (b *bench) load(ctx context.Context, ways []*soakWay, length time.Duration, s *sampler) ([]sample, error) {
	loaded, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- runWays(loaded, ways) }()
	ticks := time.NewTicker(min(sampleEvery, length/12))
	defer ticks.Stop()
	begun := time.Now()
	var samples []sample
	for {
		select {
		case err := <-failed:
			return samples, errors.Join(err, ctx.Err())
		case <-ticks.C:
			now, err := s.take()
			if err != nil {
				return nil, err
			}
			samples = append(samples, now)
			fmt.Printf("%6.0fs  %s\n", time.Since(begun).Seconds(), now)
		}
	}
}

// countGoroutines ends the gate by SIGQUIT, at which the runtime of Go prints
// every goroutine, and counts them.
func (m *mounts) countGoroutines() (int, error) {
	m.serve.ended = true
	if err := m.serve.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return 0, err
	}
	_ = m.serve.cmd.Wait()
	n := strings.Count("\n"+m.serve.stderr.String(), "\ngoroutine ")
	if n == 0 {
		return 0, fmt.Errorf("serve printed no goroutines at SIGQUIT: %s", m.serve.stderr.Bytes())
	}
	return n, nil
}

// countFiles returns how many files stand below a folder and their bytes; skip
// leaves out folders and files whose name has that end.
func countFiles(dir, skip string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was removed since
		}
		if err != nil {
			return err
		}
		if skip != "" && strings.HasSuffix(path, skip) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			files, bytes = files+1, bytes+info.Size()
		}
		return nil
	})
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return files, bytes, err
}
