package app

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
	"github.com/sallyport/sallyport/output"
)

const (
	// settlePause is how long a changed file has to stay the same. The wait is
	// repeated at most maxSettle times. A file that is half written may be a
	// valid configuration with half of the principals.
	settlePause = 50 * time.Millisecond
	maxSettle   = 5
	// maxLost is the number of consecutive checks that may find no readable
	// file before the operator is told: an editor may be about to replace the
	// file.
	maxLost = 4
)

// unreadable stands for the fingerprint of a configuration that cannot be read.
const unreadable = "unreadable"

// configFollower puts a changed configuration in force.
type configFollower struct {
	g    *Runtime
	live *Live
	role string // the default role of the surfaces
	seen string // the fingerprint that was checked last
	own  ownFiles
	lost int // the number of consecutive checks that found no readable file
	old  sync.WaitGroup
	// stopAsking ends the questions to the upstream servers of the deployment in
	// force. renew receives a deployment whose servers offer something other than
	// what is mounted.
	stopAsking func()
	// probing maps the name of each server that is being probed to the function
	// that cancels the probe.
	probing sync.Map
	renew   chan *Deployment
	// away maps each server whose tools were not available at the last check of
	// attended to the reason.
	attended *upstream.Mounts
	away     map[string]string
}

// FollowConfig starts to follow the configuration. The function that it returns stops
// that and closes the previous deployments.
func (rt *Runtime) FollowConfig(ctx context.Context, l *Live, role string) (stop func()) {
	f := &configFollower{
		g: rt, live: l, role: role, seen: rt.InForce().Config.Digest + rt.InForce().Servers.Pins.digest,
		stopAsking: func() {}, renew: make(chan *Deployment),
	}
	if rt.Builtin {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.watchConfig(ctx) })
	return func() {
		cancel()
		running.Wait()
		f.old.Wait()
	}
}

func (f *configFollower) watchConfig(ctx context.Context) {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGHUP)
	defer signal.Stop(asked)
	every := f.g.Env.Intervals.withDefaults()
	tick := time.NewTicker(every.Poll)
	defer tick.Stop()
	attend := time.NewTicker(every.Attend)
	defer attend.Stop()
	again := time.NewTicker(againPause)
	defer again.Stop()
	f.findReplaced()
	defer f.closeFiles()
	for {
		select {
		case <-ctx.Done():
			return
		case <-asked:
			f.seen, f.lost = "", maxLost-1
		case <-again.C:
			f.askSilentAgain(ctx)
			continue
		case t := <-f.renew:
			f.remountServers(ctx, t)
			continue
		case <-attend.C:
			f.attendServers(ctx)
			continue
		case <-tick.C:
		}
		if err := f.reloadIfChanged(ctx); err != nil {
			// The error may quote text that must not appear in a record.
			f.recordReload(ctx, "the last good configuration stays in force")
			fmt.Fprintf(f.g.Env.Stderr, "sallyport: the configuration has changed and is not in force; the last good one is:\n%s\n",
				strings.TrimRight(err.Error(), "\n"))
		}
	}
}

// reloadIfChanged puts the configuration in force when it has changed. It reports each
// error once.
func (f *configFollower) reloadIfChanged(ctx context.Context) error {
	paths := f.g.ConfigFiles
	f.g.endUncovered(f.g.InForce(), f.findReplaced())
	now, err := f.settledFingerprint(ctx)
	if err != nil {
		// An editor may be about to replace an unreadable file, which the next
		// check shows. An operator who asked for this check is told at once.
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
	c, err := config.Load(paths, f.g.Env.ConfigOptions())
	if err != nil {
		return err
	}
	if err := errors.Join(f.g.refuseRestartKeys(c), checkRole(c, f.role)); err != nil {
		return err
	}
	next, err := f.g.newDeployment(ctx, c)
	if err != nil {
		return err
	}
	if f.g.InForce().Servers.Pins.File != nil && next.Servers.Pins.File == nil {
		return errors.Join(fmt.Errorf("%s is gone: put it back, or start anew to serve without pins", f.g.InForce().Servers.Pins.Path), next.Close())
	}
	next.asking.Store(next.Servers.Mounts != nil)
	if err := f.swapDeployment(ctx, next); err != nil {
		return err
	}
	if s := f.g.notices.Load(); s != nil {
		s.Replace(next.Config.Notices)
	}
	f.g.AnnounceWaiting(ctx)
	f.recordReload(ctx, "")
	next.PrintWarnings(f.g.Env.Stderr)
	fmt.Fprintf(f.g.Env.Stderr, "sallyport: the configuration has changed and is in force\n")
	f.discoverOffers(ctx)
	return nil
}

// swapDeployment puts a deployment in force that was built beside the present one. Callers,
// roles, tools and policies change in one step, and no slow work comes before
// it. The servers of the deployment are asked afterwards what they offer.
func (f *configFollower) swapDeployment(ctx context.Context, next *Deployment) error {
	was := f.g.InForce().Config
	put, revision, err := f.g.Callers.Prepare(ctx, recordsOf(next.Config), next.Config.Security.DefaultPermissions)
	if err != nil {
		return errors.Join(err, next.Close())
	}
	next.revision = revision
	next.withdrawn = withoutAll(was.Security.DefaultPermissions, next.Config.Security.DefaultPermissions)
	f.stopAsking()
	f.stopProbing()
	before, idle := f.live.swapDeployment(next, put)
	f.live.listChanged()
	// A call that waits for a human has to be asked for again under the new
	// configuration.
	before.Registry.StopWaiting()
	f.g.reviewRuns(ctx, before, next)
	f.closeWhenIdle(before, idle)
	return nil
}

// remountServers puts the configuration of a deployment in force once more, with what its
// servers offer now. It does nothing when another deployment is in force.
func (f *configFollower) remountServers(ctx context.Context, t *Deployment) {
	if t != f.g.InForce() {
		return
	}
	next, err := f.g.newDeployment(ctx, t.Config)
	if err == nil {
		err = f.swapDeployment(ctx, next)
	}
	if err != nil {
		f.g.Logger.Error("what MCP servers offer now cannot be mounted", "error", err)
		return
	}
	fmt.Fprintf(f.g.Env.Stderr, "sallyport: what the MCP servers offer has changed, and is mounted\n")
}

// settledFingerprint returns the fingerprint once the files have stopped changing.
func (f *configFollower) settledFingerprint(ctx context.Context) (now string, err error) {
	now, err = f.readFingerprint()
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
		if now, err = f.readFingerprint(); now == before {
			break
		}
	}
	return now, err
}

// readFingerprint returns the fingerprint of everything that is followed: the
// configuration and the lock file beside it.
func (f *configFollower) readFingerprint() (string, error) {
	text, err := config.Fingerprint(f.g.ConfigFiles)
	if err != nil {
		return "", err
	}
	pinned, err := lockDigest(f.g.InForce().Servers.Pins.Path)
	return text + pinned, err
}

// findReplaced returns the followed files that another program has replaced.
func (f *configFollower) findReplaced() []string {
	return f.own.findReplaced(append(slices.Clone(f.g.followedFiles()), f.g.InForce().Servers.Pins.Path))
}

func (f *configFollower) closeFiles() { f.own.close() }

// recordReload records that another configuration was put in force or was refused. An
// error of the record goes to the operator's log: a change that takes rights
// away must not wait for the record.
func (f *configFollower) recordReload(ctx context.Context, refused string) {
	e := ChangeEvent(audit.ActionReload, f.seen, strings.Join(f.g.ConfigFiles, " "))
	e.Error = output.Plain().Text(refused)
	if err := f.g.recordChange(ctx, e); err != nil {
		f.g.Logger.Error("there is no record of a changed configuration", "error", err)
	}
}

// closeWhenIdle closes a deployment when the last call in it has ended.
func (f *configFollower) closeWhenIdle(t *Deployment, idle <-chan struct{}) {
	f.old.Go(func() {
		<-idle
		if err := t.Close(); err != nil {
			f.g.Logger.Warn("the configuration before could not be closed", "error", err)
		}
	})
}

// refuseRestartKeys refuses changes that a running server cannot make.
func (rt *Runtime) refuseRestartKeys(c *config.Config) error {
	keys := rt.RestartKeys(c)
	if len(keys) == 0 {
		return nil
	}
	return fmt.Errorf("%s: this change needs a restart of the server; nothing of the new configuration is in force", strings.Join(keys, ", "))
}

// RestartKeys returns the keys in which a configuration differs and that a running server
// does not change: where the state lies, what children see, and what the deny floor
// covers.
func (rt *Runtime) RestartKeys(c *config.Config) (keys []string) {
	was := rt.InForce().Config
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
		{"skills", was.Skills == c.Skills},
		{"known.<name>.file", slices.Equal(knownFiles(was), knownFiles(c))},
		{"log", was.Log == c.Log},
		{"metrics", was.Metrics == c.Metrics},
		{"audit", reflect.DeepEqual(was.Audit, c.Audit)},
		{"telemetry", reflect.DeepEqual(was.Telemetry, c.Telemetry)},
		{"tls", reflect.DeepEqual(was.TLS, c.TLS)},
		{"security.oidc", sameIssuer(was.Security.OIDC, c.Security.OIDC)},
		{"security.require_auth", was.Security.RequireAuth == c.Security.RequireAuth},
	} {
		if !k.same {
			keys = append(keys, k.key)
		}
	}
	return keys
}

// sameIssuer compares the settings of an issuer that a server reads at its
// start. The rights of the issuer's callers follow the configuration in force,
// and an issuer that is removed from it is no longer trusted.
func sameIssuer(a, b *config.OIDC) bool {
	if a == nil || b == nil {
		return b == nil
	}
	was, is := *a, *b
	was.Personalities, is.Personalities = nil, nil
	return reflect.DeepEqual(was, is)
}

// checkRole refuses a configuration without the default role of the surfaces.
func checkRole(c *config.Config, role string) error {
	if _, ok := c.Personality(role); ok {
		return nil
	}
	return fmt.Errorf("personalities: the role %q, which this server serves, is gone", role)
}
