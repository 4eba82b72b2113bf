package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sallyport/sallyport/internal/config"
)

// FollowChanges watches the configuration while a command runs. When a change takes
// rights away, it ends or narrows what the command runs. In all other
// respects the command keeps the configuration with which it began. The caller
// calls stop to end the watch.
func (rt *Runtime) FollowChanges(ctx context.Context) (stop func()) {
	if rt.Builtin {
		return func() {}
	}
	h := &commandFollower{configFollower: configFollower{g: rt, seen: rt.InForce().Config.Digest + rt.InForce().Servers.Pins.digest}, judge: rt.InForce()}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { h.watchConfig(ctx) })
	return func() {
		cancel()
		running.Wait()
	}
}

// commandFollower compares what a command runs with the configuration on the disk.
type commandFollower struct {
	configFollower
	judge *Deployment // the last valid configuration
}

func (h *commandFollower) watchConfig(ctx context.Context) {
	tick := time.NewTicker(h.g.Env.Intervals.withDefaults().Poll)
	defer tick.Stop()
	defer func() {
		if h.judge != h.g.InForce() {
			h.reportFault(h.judge.Close())
		}
	}()
	h.findReplaced()
	defer h.closeFiles()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		h.g.endUncovered(h.g.InForce(), h.findReplaced())
		h.reportFault(h.reloadIfChanged(ctx))
		if h.judge != h.g.InForce() {
			// Review at each look: a batch begins new calls as others end.
			h.g.reviewRuns(ctx, h.g.InForce(), h.judge)
		}
	}
}

// reloadIfChanged loads the configuration when it has changed.
func (h *commandFollower) reloadIfChanged(ctx context.Context) error {
	now, err := h.settledFingerprint(ctx)
	if err != nil || now == h.seen {
		return nil // another process may be about to replace an unreadable file
	}
	h.seen = now
	c, err := config.Load(h.g.ConfigFiles, h.g.Env.ConfigOptions())
	if err == nil {
		err = h.g.refuseRestartKeys(c)
	}
	if err != nil {
		return err
	}
	next, err := h.g.newDeployment(ctx, c)
	if err != nil {
		return err
	}
	put, revision, err := h.g.Callers.Prepare(ctx, recordsOf(c), c.Security.DefaultPermissions)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	put()
	next.revision = revision
	before := h.judge
	if h.judge = next; before != h.g.InForce() {
		return before.Close()
	}
	return nil
}

// reportFault warns that a changed configuration does not apply to what runs.
func (h *commandFollower) reportFault(err error) {
	if err != nil {
		fmt.Fprintf(h.g.Env.Stderr, "sallyport: the configuration has changed and is not in force for what runs; the last good one is:\n%s\n",
			strings.TrimRight(err.Error(), "\n"))
	}
}
