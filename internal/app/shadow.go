package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/shadow"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// countPause is the pause between two writes of what was counted.
	countPause = time.Second
	// judgeWait bounds how long a server that ends goes on judging the calls that it
	// has answered.
	judgeWait = 5 * time.Second
)

// serverShadow judges the calls of a server under a second configuration, beside the
// one in force. It only decides: it starts nothing, connects nowhere, resolves no
// secret and uses nothing up. One worker reads the record behind the server, so that no
// call waits for it.
type serverShadow struct {
	rt    *Runtime // of the server
	name  string   // of the second configuration, as the user wrote it
	path  string
	dir   string // in which the one in force lies
	queue *shadow.Queue

	// The worker owns what follows.
	judge   *shadowJudge
	counted map[comparison]*shadow.Report
	written time.Time     // when what was counted was last written
	total   shadow.Report // of the server, under any configuration
}

// comparison is the fingerprints of two configurations.
type comparison struct{ shadow, inForce string }

// OpenForServing is OpenForCalls for a server that judges its calls under a second
// configuration, too, which no tool reaches. An empty path names none.
func OpenForServing(ctx context.Context, env *Environment, paths []string, second string) (*Runtime, error) {
	return openWith(ctx, env, paths, func(rt *Runtime, ctx context.Context) error {
		rt.openLogging()
		rt.openMetrics()
		rt.openTelemetry()
		if second != "" {
			rt.shadow = &serverShadow{
				rt: rt, name: second, path: filepath.Clean(fsx.Absolute(env.Dir, second)), dir: rt.InForce().Config.Dir,
				queue: shadow.NewQueue(shadow.MaxWaiting), counted: map[comparison]*shadow.Report{},
			}
		}
		return rt.openStore(ctx)
	})
}

// StartShadow begins to judge calls under the second configuration of a server. The
// error says what is wrong with it. The function that it returns judges what is left,
// for a short time, and writes the counts; call it when no call runs any more. Without a
// second configuration nothing is done.
func (rt *Runtime) StartShadow(ctx context.Context) (stop func(), err error) {
	s := rt.shadow
	if s == nil {
		return func() {}, nil
	}
	if err := s.loadShadow(ctx, rt.InForce().Config.Digest); err != nil {
		return nil, fmt.Errorf("--shadow: %w", err)
	}
	fmt.Fprintf(rt.Env.Stderr, "sallyport: %s is judged beside the configuration in force, and decides nothing: %s\n",
		text.PrintableLine(s.name), rt.CommandLine("shadow"))
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var worker sync.WaitGroup
	worker.Go(func() { s.watch(working) })
	return func() {
		cancel()
		worker.Wait()
		s.finish(context.WithoutCancel(ctx))
	}, nil
}

// loadShadow loads the second configuration and takes it in place of the one before.
func (s *serverShadow) loadShadow(ctx context.Context, inForce string) error {
	if err := CheckBeside(s.path, s.dir); err != nil {
		return err
	}
	next, err := s.openJudge(ctx)
	if err != nil {
		return err
	}
	if s.judge != nil {
		s.judgeCalls(ctx) // what was decided before is judged under the text before
		s.writeCounts(ctx)
		if err := s.judge.Close(); err != nil {
			s.rt.Logger.Warn("the shadow before could not be closed", "error", err)
		}
	}
	s.judge = next
	s.reportFor(inForce)
	s.writeCounts(ctx)
	return nil
}

// CheckBeside refuses a configuration in another folder than the one in force: what it
// names by relative paths, and the lock file, would be others.
func CheckBeside(path, dir string) error {
	is, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%s: cannot be read: %s", path, fsx.Reason(err))
	}
	if want, err := os.Stat(dir); err == nil && os.SameFile(is, want) {
		return nil
	}
	return fmt.Errorf("%s is not in %s, where the configuration in force is: relative paths and %s would mean something else; copy it there", path, dir, LockName)
}

// watch judges calls as they end, until the context ends.
func (s *serverShadow) watch(ctx context.Context) {
	tick := time.NewTicker(s.rt.Env.Intervals.withDefaults().Poll)
	defer tick.Stop()
	s.judgeCalls(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.queue.Wake():
			s.judgeCalls(ctx)
			continue
		case <-tick.C:
		}
		if err := s.reloadIfChanged(ctx); err != nil {
			fmt.Fprintf(s.rt.Env.Stderr, "sallyport: the shadow %s has changed and is not judged; the last good one is:\n%s\n",
				text.PrintableLine(s.name), strings.TrimRight(err.Error(), "\n"))
		}
		if time.Since(s.written) >= countPause {
			s.writeCounts(ctx)
		}
	}
}

// reloadIfChanged loads the second configuration when it, or the lock file beside it,
// has changed. It reports each error once.
func (s *serverShadow) reloadIfChanged(ctx context.Context) error {
	f := &s.judge.files
	now, err := f.settledFingerprint(ctx)
	switch {
	case err != nil:
		if f.lost++; f.lost != maxLost {
			return nil
		}
		f.seen = unreadable
		return err
	case now == f.seen:
		f.lost = 0
		return nil
	}
	f.seen, f.lost = now, 0
	inForce := s.rt.Live.Load().deployment.Load().Config.Digest
	if err := s.loadShadow(ctx, inForce); err != nil {
		return err
	}
	fmt.Fprintf(s.rt.Env.Stderr, "sallyport: the shadow %s has changed and is judged\n", text.PrintableLine(s.name))
	return nil
}

// recordOutcome records the outcome of a call that was decided under a configuration,
// and has the call judged.
func (s *serverShadow) recordOutcome(id, inForce string, record func() error) error {
	s.queue.Add(id, inForce)
	err := record()
	s.queue.Confirm(id, err == nil)
	return err
}

// reportFor returns the counts for the calls that a configuration decided.
func (s *serverShadow) reportFor(inForce string) *shadow.Report {
	of := comparison{s.judge.InForce().Config.Digest, inForce}
	r := s.counted[of]
	if r == nil {
		now := time.Now().UTC()
		r = &shadow.Report{Shadow: of.shadow, InForce: of.inForce, File: s.path, Since: now, Updated: now}
		s.counted[of] = r
	}
	return r
}

// writeCounts adds what was counted since the last time to what the state has. What
// cannot be written is tried again.
func (s *serverShadow) writeCounts(ctx context.Context) {
	s.written = time.Now()
	for inForce, n := range s.queue.TakeDropped() {
		s.reportFor(inForce).NotJudged += n
	}
	for of, r := range s.counted {
		if err := shadow.Add(ctx, s.rt.Settings, r); err != nil {
			if ctx.Err() == nil {
				s.rt.Logger.Warn("what was counted of the shadow is not in the state", "error", err)
			}
			return
		}
		delete(s.counted, of)
		s.total.AddCounts(r)
	}
}

// finish judges the calls that are left for a short time, writes the counts, and says
// them.
func (s *serverShadow) finish(ctx context.Context) {
	judging, cancel := context.WithTimeout(ctx, judgeWait)
	s.judgeCalls(judging)
	cancel()
	s.queue.DropAll()
	writing, cancel := context.WithTimeout(ctx, changeWait)
	defer cancel()
	s.writeCounts(writing)
	t := &s.total
	fmt.Fprintf(s.rt.Env.Stderr, "sallyport: the shadow %s judged %s: %d the same, %d flipped; %d not replayable, %d not judged\n", text.PrintableLine(s.name),
		text.CountOf(t.Judged(), "call"), t.Same, t.Flips, t.NotReplayable, t.NotJudged)
	if err := s.judge.Close(); err != nil {
		s.rt.Logger.Warn("the shadow could not be closed", "error", err)
	}
}
