package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/config"
)

const (
	// pollPause is how often a server looks whether its configuration has
	// changed: what it takes away is gone within a second. Reading a few
	// kilobytes costs less than a library that watches folders, and sees editors
	// that replace the file.
	pollPause = 250 * time.Millisecond
	// settlePause is how long a changed file has to stay the same, at most
	// maxSettle times: half of a file that is being written may be a whole
	// configuration with half of the principals.
	settlePause = 50 * time.Millisecond
	maxSettle   = 5
	// attendPause is how often a server looks which upstream servers are due.
	attendPause = time.Second
	// maxLost is how many looks in a row may find no file that can be read before
	// the operator is told: it may be about to be replaced.
	maxLost = 4
)

// unreadable stands for the fingerprint of a configuration that cannot be read.
const unreadable = "unreadable"

// follower puts a changed configuration in force.
type follower struct {
	g    *gate
	env  *environment
	live *live
	role string // the one that surfaces fall back on
	seen string // the fingerprint that was judged last
	lost int    // how many looks in a row found no file that can be read
	old  sync.WaitGroup
	// stopAsking ends what asks the upstream servers of the turn in force; renew
	// brings a turn whose servers offer something else than what is mounted.
	stopAsking func()
	// probing is the servers that are asked whether they answer, by name, with
	// what cancels that.
	probing sync.Map
	renew   chan *turn
	// away says of which servers the tools were not available at the last look at
	// attended, and why.
	attended *upstream.Mounts
	away     map[string]string
}

// follow has the configuration followed until the function that it returns is
// called, which closes what was in force before.
func (g *gate) follow(ctx context.Context, env *environment, l *live, role string) (stop func()) {
	f := &follower{
		g: g, env: env, live: l, role: role, seen: g.config.Digest + g.servers.pins.digest,
		stopAsking: func() {}, renew: make(chan *turn),
	}
	if g.builtin {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.run(ctx) })
	return func() {
		cancel()
		running.Wait()
		f.old.Wait()
	}
}

func (f *follower) run(ctx context.Context) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	attend := time.NewTicker(attendPause)
	defer attend.Stop()
	again := time.NewTicker(againPause)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			f.seen, f.lost = "", maxLost-1
		case <-again.C:
			f.again(ctx)
			continue
		case t := <-f.renew:
			f.remount(ctx, t)
			continue
		case <-attend.C:
			f.attend(ctx)
			continue
		case <-tick.C:
		}
		if err := f.look(ctx); err != nil {
			// What is wrong may quote what nobody should read in a record.
			f.keep(ctx, "the last good configuration stays in force")
			fmt.Fprintf(f.env.stderr, "sallyport: the configuration has changed and is not in force; the last good one is:\n%s\n",
				strings.TrimRight(err.Error(), "\n"))
		}
	}
}

// look puts the configuration in force when it has changed. What is wrong with
// it is said once.
func (f *follower) look(ctx context.Context) error {
	paths := f.g.config.Files
	now, err := f.settled(ctx)
	if err != nil {
		// What cannot be read may be about to be replaced, which the next look
		// shows. Who asked for this one is told at once.
		if f.lost++; f.lost != maxLost {
			return nil
		}
		f.seen = unreadable
		return err
	}
	f.lost = 0
	if now == f.seen {
		return nil
	}
	f.seen = now
	c, err := config.Load(paths, configOptions(f.env))
	if err != nil {
		return err
	}
	if err := errors.Join(f.g.fixed(c), named(c, f.role)); err != nil {
		return err
	}
	next, err := f.g.turnOf(ctx, f.env, c)
	if err != nil {
		return err
	}
	if f.g.servers.pins.file != nil && next.servers.pins.file == nil {
		return errors.Join(fmt.Errorf("%s is gone: put it back, or start anew to serve without pins", f.g.servers.pins.path), next.Close())
	}
	next.asking.Store(next.servers.mounts != nil)
	if err := f.exchange(ctx, next); err != nil {
		return err
	}
	f.keep(ctx, "")
	next.warn(f.env)
	fmt.Fprintf(f.env.stderr, "sallyport: the configuration has changed and is in force\n")
	f.discover(ctx)
	return nil
}

// exchange puts a turn in force that was built beside the one in force: callers,
// roles, tools and policies change in one step, and nothing that takes time comes
// before it. What its servers offer is asked afterwards.
func (f *follower) exchange(ctx context.Context, next *turn) error {
	was := f.g.config
	put, revision, err := f.g.callers.Prepare(ctx, recordsOf(next.config), next.config.Security.DefaultPermissions)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	next.revision = revision
	next.withdrawn = slices.DeleteFunc(slices.Clone(was.Security.DefaultPermissions), func(permission string) bool {
		return slices.Contains(next.config.Security.DefaultPermissions, permission)
	})
	f.stopAsking()
	f.stopProbing()
	before := f.live.exchange(next, put)
	f.g.turn = next
	f.live.listChanged()
	// A call that waits for a human is asked for anew under what is in force.
	before.registry.StopWaiting()
	f.g.review(ctx, before, next)
	f.retire(before)
	return nil
}

// remount puts the configuration of a turn in force once more, if it still is,
// with what its servers offer now.
func (f *follower) remount(ctx context.Context, t *turn) {
	if t != f.g.turn {
		return
	}
	next, err := f.g.turnOf(ctx, f.env, t.config)
	if err == nil {
		err = f.exchange(ctx, next)
	}
	if err != nil {
		f.g.logger.Error("what MCP servers offer now cannot be mounted", "error", err)
		return
	}
	fmt.Fprintf(f.env.stderr, "sallyport: what the MCP servers offer has changed, and is mounted\n")
}

// settled is the fingerprint of what is not being written at this moment.
func (f *follower) settled(ctx context.Context) (now string, err error) {
	now, err = f.fingerprint()
	for range maxSettle {
		if err != nil || now == f.seen {
			return now, err
		}
		before := now
		select {
		case <-time.After(settlePause):
		case <-ctx.Done():
			return f.seen, nil
		}
		if now, err = f.fingerprint(); now == before {
			break
		}
	}
	return now, err
}

// fingerprint is that of everything that is followed: the configuration, and
// what is pinned beside it.
func (f *follower) fingerprint() (string, error) {
	text, err := config.Fingerprint(f.g.config.Files)
	if err != nil {
		return "", err
	}
	pinned, err := lockDigest(f.g.servers.pins.path)
	return text + pinned, err
}

// keep records that another configuration was put in force, or was not. What is
// wrong with a record is for the operator's log: a change that takes something
// away must not wait for it.
func (f *follower) keep(ctx context.Context, refused string) {
	e := changed(audit.ActionReload, f.seen, strings.Join(f.g.config.Files, " "))
	e.Error = refused
	if err := f.g.keep(ctx, e); err != nil {
		f.g.logger.Error("there is no record of a changed configuration", "error", err)
	}
}

// retire closes a turn when the last call in it has ended.
func (f *follower) retire(t *turn) {
	f.old.Go(func() {
		<-t.idle
		if err := t.Close(); err != nil {
			f.g.logger.Warn("the configuration before could not be closed", "error", err)
		}
	})
}

// fixed refuses changes that a running server cannot make: what holds state,
// what children see, and what the deny floor covers.
func (g *gate) fixed(c *config.Config) error {
	was := g.config
	var keys []string
	for _, k := range []struct {
		key  string
		same bool
	}{
		{"workspace", was.Workspace == c.Workspace},
		{"state", was.State == c.State},
		{"limits", was.Limits == c.Limits},
		{"secrets", reflect.DeepEqual(was.Secrets, c.Secrets)},
		{"sandbox", reflect.DeepEqual(was.Sandbox, c.Sandbox)},
		{"packages", was.Packages == c.Packages},
		{"security.oidc", sameIssuer(was.Security.OIDC, c.Security.OIDC)},
		{"security.require_auth", was.Security.RequireAuth == c.Security.RequireAuth},
	} {
		if !k.same {
			keys = append(keys, k.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("%s: this change needs a restart of the server; nothing of the new configuration is in force", strings.Join(keys, ", "))
}

// sameIssuer compares what a server asks of an issuer at its start. What the
// issuer's callers may do follows the configuration in force, and an issuer
// that is taken out of it is not believed any more.
func sameIssuer(a, b *config.OIDC) bool {
	if a == nil || b == nil {
		return b == nil
	}
	was, is := *a, *b
	was.Personalities, is.Personalities = nil, nil
	return reflect.DeepEqual(was, is)
}

// named refuses a configuration without the role that surfaces fall back on.
func named(c *config.Config, role string) error {
	if _, ok := c.Personality(role); ok {
		return nil
	}
	return fmt.Errorf("personalities: the role %q, which this server serves, is gone", role)
}
