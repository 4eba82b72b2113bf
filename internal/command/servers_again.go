package command

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

// askSilentServers asks the servers of a turn in force that did not answer, those that
// have a definition held back, and those that are due. It registers the tools
// of the servers that answer now and returns their news, for the operator.
func (t *deployment) askSilentServers(ctx context.Context, role string) (news []string) {
	s := &t.servers
	if s.mounts == nil {
		return nil
	}
	now := t.askAgain(ctx, role, t.toAsk(ctx))
	for i, f := range now {
		if f == nil || !s.found[i].isSilent() || f.why != "" {
			continue
		}
		s.found[i] = f
		t.registerFound(func(server string) bool { return server == f.Name })
		news = append(news, f.answersNow())
	}
	return news
}

// answersNow says that a server answers that did not answer before.
func (f *foundServer) answersNow() string {
	return fmt.Sprintf("the MCP server %s answers now: %d tools", f.Name, len(f.tools))
}

// isSilent reports whether a role may use the server and the server has not
// answered.
func (f *foundServer) isSilent() bool { return f.role != "" && f.why != "" }

// toAsk selects the found servers that have to be asked again.
func (t *deployment) toAsk(ctx context.Context) []bool {
	s := &t.servers
	due, held, list := s.mounts.Due(ctx), map[string]bool{}, make([]bool, len(s.found))
	for _, l := range s.mounts.Quarantined() {
		held[l.Server] = held[l.Server] || !l.New
	}
	for i, f := range s.found {
		waits := f.isSilent() || held[f.Name]
		switch {
		case f.role == "" || s.pins.of[f.Name].why != "":
		case slices.Contains(due, f.Name):
			list[i] = true
		case waits && time.Since(f.again) >= f.pause:
			f.again, f.pause = time.Now(), min(max(againPause, 2*f.pause), longestAgain)
			list[i] = true
		}
	}
	return list
}

// askAgain asks the selected servers and returns what is known of them then.
func (t *deployment) askAgain(ctx context.Context, role string, wanted []bool) []*foundServer {
	s := &t.servers
	now := make([]*foundServer, len(s.found))
	turns := make(chan struct{}, discoverAtOnce)
	var asking sync.WaitGroup
	for i, f := range s.found {
		if !wanted[i] {
			continue
		}
		now[i] = &foundServer{Server: f.Server, part: f.part}
		asking.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			// Wait longer than one role takes, so that the answer of the server
			// is not cut off.
			ctx, cancel := context.WithTimeout(ctx, 2*discoverWait)
			defer cancel()
			s.mounts.Probe(ctx, f.Name, func(ctx context.Context) { t.askServer(ctx, now[i], role) })
		})
	}
	asking.Wait()
	return now
}

// listLogins lists the principals that may have logged in at servers, beside
// the local user.
func (g *gate) listLogins(ctx context.Context) (names []string) {
	entries, err := g.callers.Entries(ctx)
	if err != nil {
		g.logger.Error("principals cannot be listed", "error", err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// attendServers asks the upstream servers that are due. It tells the operator whose
// tools have come or gone since the last call.
func (f *configFollower) attendServers(ctx context.Context) {
	m := f.g.servers.mounts
	if m == nil || f.g.asking.Load() {
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
			fmt.Fprintf(f.g.env.stderr, "sallyport: the tools of the MCP server %s are not available: %s\n", name, text.PrintableLine(why))
		}
	}
	for name := range f.away {
		if now[name] == "" {
			fmt.Fprintf(f.g.env.stderr, "sallyport: the tools of the MCP server %s are available again\n", name)
		}
	}
	f.away = now
}

// probeServer asks a mounted server in the background whether it answers, so that a
// server that hangs does not delay the others.
func (f *configFollower) probeServer(ctx context.Context, m *upstream.Mounts, name string) {
	s := &f.g.servers
	i := slices.IndexFunc(s.found, func(found *foundServer) bool { return found.Name == name })
	switch {
	case i < 0 || s.found[i].role == "" || s.pins.of[name].why != "":
		return
	case s.found[i].isSilent():
		f.askSilentAgain(ctx)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*discoverWait)
	if _, runs := f.probing.LoadOrStore(name, cancel); runs {
		cancel()
		return
	}
	asked, t := &foundServer{Server: s.found[i].Server, part: s.found[i].part}, f.g.deployment
	_, release := f.live.Acquire()
	f.old.Go(func() {
		defer release()
		defer f.probing.Delete(name)
		defer cancel()
		m.Probe(ctx, name, func(ctx context.Context) { t.askServer(ctx, asked, f.role) })
	})
}

// stopProbing cancels the probes of [follower.probe].
func (f *configFollower) stopProbing() {
	f.probing.Range(func(_, cancel any) bool {
		cancel.(context.CancelFunc)()
		return true
	})
}

// askSilentAgain asks the servers of the turn in force again, in the background: a slow
// server must not delay a changed configuration.
func (f *configFollower) askSilentAgain(ctx context.Context) {
	if f.g.servers.mounts == nil || !f.g.asking.CompareAndSwap(false, true) {
		return
	}
	f.inBackground(ctx, func(ctx context.Context, t *deployment) {
		news := t.askSilentServers(ctx, f.role)
		for _, n := range news {
			fmt.Fprintf(f.g.env.stderr, "sallyport: %s\n", n)
		}
		if len(news) > 0 {
			f.live.listChanged()
		}
	})
}

// discoverOffers asks the servers of a new turn what they offer. When that differs
// from what is mounted, discover puts the configuration in force once more.
func (f *configFollower) discoverOffers(ctx context.Context) {
	if !f.g.asking.Load() {
		return // the turn has no servers
	}
	f.inBackground(ctx, func(ctx context.Context, t *deployment) {
		known, before := len(t.warnings), len(t.servers.found)
		t.discoverServers(ctx, f.role, everyServer)
		if ctx.Err() != nil {
			return // another turn is in force
		}
		for _, w := range t.warnings[known:] {
			fmt.Fprintf(f.g.env.stderr, "sallyport: warning: %s\n", w)
		}
		for _, found := range t.servers.found[before:] {
			if found.why == "" {
				fmt.Fprintf(f.g.env.stderr, "sallyport: %s\n", found.answersNow())
			}
		}
		f.live.listChanged()
		if t.servers.mounts.Outdated() {
			select {
			case f.renew <- t:
			case <-ctx.Done():
			}
		}
	})
}

// inBackground asks the servers of the turn in force until another turn takes
// its place. The caller has marked the turn as asking: only one such function
// may run at a time.
func (f *configFollower) inBackground(ctx context.Context, ask func(ctx context.Context, t *deployment)) {
	t := f.g.deployment
	_, release := f.live.Acquire()
	f.stopAsking()
	ctx, f.stopAsking = context.WithCancel(ctx)
	f.old.Go(func() {
		defer release()
		defer t.asking.Store(false)
		ask(ctx, t)
	})
}
