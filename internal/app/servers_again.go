package app

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/upstream"
	"github.com/sallyport/sallyport/internal/text"
)

// againPause is the wait before an upstream server is asked again when it did
// not answer or has a definition held back. The wait doubles each time, up to
// longestAgain.
const againPause, longestAgain = time.Minute, 32 * time.Minute

// grantsOf returns a function that describes what the grant of a server depends
// on in a role, beside its declaration: the ceilings of the role, and every
// other setting that may matter.
func grantsOf(roles sallyport.Personalities) func(server, role string) string {
	return func(_, role string) string {
		p, ok := roles.Personality(role)
		if !ok {
			return ""
		}
		ceiling := *p
		ceiling.Description, ceiling.Sources = "", nil
		ceiling.Toolset, ceiling.MCPServers, ceiling.Plugins = nil, nil, nil
		ceiling.Approvals, ceiling.Flow = nil, sallyport.Flow{}
		text, err := json.Marshal(ceiling)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

// AskSilentServers asks the servers of a deployment in force that did not answer, those that
// have a definition held back, and those that are due. It registers the tools
// of the servers that answer now and returns their news, for the operator.
func (t *Deployment) AskSilentServers(ctx context.Context, role string) (news []string) {
	s := &t.Servers
	if s.Mounts == nil {
		return nil
	}
	now := t.askAgain(ctx, role, t.toAsk(ctx))
	for i, f := range now {
		if f == nil || !s.Found[i].isSilent() || f.Why != "" {
			continue
		}
		s.Found[i] = f
		t.registerFound(func(server string) bool { return server == f.Name })
		news = append(news, f.answersNow())
	}
	return news
}

// answersNow says that a server answers that did not answer before.
func (f *FoundServer) answersNow() string {
	return fmt.Sprintf("the MCP server %s answers now: %d tools", f.Name, len(f.Tools))
}

// isSilent reports whether a role may use the server and the server has not
// answered.
func (f *FoundServer) isSilent() bool { return f.Role != "" && f.Why != "" }

// toAsk selects the found servers that have to be asked again.
func (t *Deployment) toAsk(ctx context.Context) []bool {
	s := &t.Servers
	due, held, list := s.Mounts.Due(ctx), map[string]bool{}, make([]bool, len(s.Found))
	for _, l := range s.Mounts.Quarantined() {
		held[l.Server] = held[l.Server] || !l.New
	}
	for i, f := range s.Found {
		waits := f.isSilent() || held[f.Name]
		switch {
		case f.Role == "" || s.Pins.Servers[f.Name].Why != "":
		case slices.Contains(due, f.Name):
			list[i] = true
		case waits && time.Since(f.again) >= f.Pause:
			f.again, f.Pause = time.Now(), min(max(againPause, 2*f.Pause), longestAgain)
			list[i] = true
		}
	}
	return list
}

// askAgain asks the selected servers and returns what is known of them then.
func (t *Deployment) askAgain(ctx context.Context, role string, wanted []bool) []*FoundServer {
	s := &t.Servers
	now := make([]*FoundServer, len(s.Found))
	turns := make(chan struct{}, discoverAtOnce)
	var asking sync.WaitGroup
	for i, f := range s.Found {
		if !wanted[i] {
			continue
		}
		now[i] = &FoundServer{Server: f.Server, Part: f.Part}
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			// Wait longer than one role takes, so that the answer of the server
			// is not cut off.
			ctx, cancel := context.WithTimeout(ctx, 2*serveWait)
			defer cancel()
			s.Mounts.Probe(ctx, f.Name, func(ctx context.Context) { t.askServer(ctx, now[i], role) })
		})
	}
	asking.Wait()
	return now
}

// listLogins lists the principals that may have logged in at servers, beside
// the local user.
func (rt *Runtime) listLogins(ctx context.Context) (names []string) {
	entries, err := rt.Callers.Entries(ctx)
	if err != nil {
		rt.Logger.Error("principals cannot be listed", "error", err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// attendServers asks the upstream servers that are due. It tells the operator whose
// tools have come or gone since the last call.
func (f *configFollower) attendServers(ctx context.Context) {
	m := f.g.InForce().Servers.Mounts
	if m == nil || f.g.InForce().asking.Load() {
		return
	}
	for _, name := range m.Due(ctx) {
		f.probeServer(ctx, m, name)
	}
	if m != f.attended {
		f.attended, f.away = m, nil
	}
	now := m.Unavailable()
	for name, why := range now {
		if f.away[name] == "" {
			fmt.Fprintf(f.g.Env.Stderr, "sallyport: the tools of the MCP server %s are not available: %s\n", name, text.PrintableLine(why))
		}
	}
	for name := range f.away {
		if now[name] == "" {
			fmt.Fprintf(f.g.Env.Stderr, "sallyport: the tools of the MCP server %s are available again\n", name)
		}
	}
	f.away = now
}

// probeServer asks a mounted server in the background whether it answers, so that a
// server that hangs does not delay the others.
func (f *configFollower) probeServer(ctx context.Context, m *upstream.Mounts, name string) {
	s := &f.g.InForce().Servers
	i := slices.IndexFunc(s.Found, func(found *FoundServer) bool { return found.Name == name })
	switch {
	case i < 0 || s.Found[i].Role == "" || s.Pins.Servers[name].Why != "":
		return
	case s.Found[i].isSilent():
		f.askSilentAgain(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*serveWait)
	if _, runs := f.probing.LoadOrStore(name, cancel); runs {
		cancel()
		return
	}
	asked, t := &FoundServer{Server: s.Found[i].Server, Part: s.Found[i].Part}, f.g.InForce()
	_, release := f.live.Acquire()
	f.old.Go(func() {
		defer release()
		defer f.probing.Delete(name)
		defer cancel()
		m.Probe(ctx, name, func(ctx context.Context) { t.askServer(ctx, asked, f.role) })
	})
}

// stopProbing cancels the probes of [configFollower.probeServer].
func (f *configFollower) stopProbing() {
	f.probing.Range(func(_, cancel any) bool {
		cancel.(context.CancelFunc)()
		return true
	})
}

// askSilentAgain asks the servers of the deployment in force again, in the background: a slow
// server must not delay a changed configuration.
func (f *configFollower) askSilentAgain(ctx context.Context) {
	if f.g.InForce().Servers.Mounts == nil || !f.g.InForce().asking.CompareAndSwap(false, true) {
		return
	}
	f.inBackground(ctx, func(ctx context.Context, t *Deployment) {
		news := t.AskSilentServers(ctx, f.role)
		for _, n := range news {
			fmt.Fprintf(f.g.Env.Stderr, "sallyport: %s\n", n)
		}
		if len(news) > 0 {
			f.live.listChanged()
		}
	})
}

// discoverOffers asks the servers of a new deployment what they offer. When that differs
// from what is mounted, it puts the configuration in force once more.
func (f *configFollower) discoverOffers(ctx context.Context) {
	if !f.g.InForce().asking.Load() {
		return // the deployment has no servers
	}
	f.inBackground(ctx, func(ctx context.Context, t *Deployment) {
		known, before := len(t.warnings), len(t.Servers.Found)
		t.DiscoverForServing(ctx, f.role)
		if ctx.Err() != nil {
			return // another deployment is in force
		}
		for _, w := range t.warnings[known:] {
			fmt.Fprintf(f.g.Env.Stderr, "sallyport: warning: %s\n", w)
		}
		for _, found := range t.Servers.Found[before:] {
			if found.Why == "" {
				fmt.Fprintf(f.g.Env.Stderr, "sallyport: %s\n", found.answersNow())
			}
		}
		f.live.listChanged()
		if t.Servers.Mounts.Outdated() {
			select {
			case f.renew <- t:
			case <-ctx.Done():
			}
		}
	})
}

// inBackground asks the servers of the deployment in force until another deployment takes
// its place. The caller has marked the deployment as asking: only one such function
// may run at a time.
func (f *configFollower) inBackground(ctx context.Context, ask func(ctx context.Context, t *Deployment)) {
	t := f.g.InForce()
	_, release := f.live.Acquire()
	f.stopAsking()
	ctx, f.stopAsking = context.WithCancel(ctx)
	f.old.Go(func() {
		defer release()
		defer t.asking.Store(false)
		ask(ctx, t)
	})
}
