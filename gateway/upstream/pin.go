package upstream

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/lock"
)

const (
	// relistPause is how long a server that keeps saying that its lists have
	// changed waits between two looks that no call asks for.
	relistPause = 5 * time.Second
	// remoteAge is how long the lists of a remote server are believed. It may
	// be replaced behind its address, and tells nobody outside a call.
	remoteAge = time.Minute
)

// view is what the last look at one connection has shown to a server. It does
// not change.
type view struct {
	// bad says which accepted definitions it does not have, and why.
	bad map[thing]string
	// gone are those of bad that are merely not listed.
	gone map[thing]bool
	// more is what was not offered when the server was discovered.
	more []thing
	// apart says that it counts for this connection alone: a server that knows
	// whom it talks to may offer each something else.
	apart bool
}

// accept takes what discovery has found. Until it is mounted it is what counts
// from now on; a later look is compared with it.
func (s *server) accept(n *listing, l *link) {
	s.mu.Lock()
	first := s.accepted == nil || !s.taken
	if s.latest = n; first {
		s.accepted, s.role = n, l.key.personality
	}
	s.mu.Unlock()
	if !first {
		s.look(l, n)
	}
}

// look compares what a connection offers now with what is mounted.
func (s *server) look(l *link, n *listing) {
	s.mu.Lock()
	accepted, mounted, role := s.accepted, s.mounted, s.role
	s.mu.Unlock()
	v := &view{bad: map[thing]string{}, gone: map[thing]bool{}, apart: s.OAuth != nil && l.key.principal != ""}
	for t, d := range mounted {
		why, gone := s.compare(d, n)
		if why == "" {
			continue
		}
		v.bad[t] = why
		// What another role is not offered, because its grant is smaller, says
		// nothing about this one.
		v.gone[t] = gone && l.key.personality != role
	}
	for _, d := range n.known {
		if accepted == nil || accepted.things[d.thing] == nil {
			v.more = append(v.more, d.thing)
		}
	}
	s.judge(l, v)
}

// compare says why what is offered now is not what was accepted; gone says that
// it is not offered at all.
func (s *server) compare(d *offering, n *listing) (why string, gone bool) {
	now := n.things[d.thing]
	switch {
	case n.failed[d.kind] != "":
		return n.failed[d.kind], false
	case now == nil:
		return "the server does not offer it any more", true
	case now.fault != "":
		return s.m.o.Cleaner.Text(now.fault), false
	case now.digest != d.digest:
		return "its definition is not the one that was accepted", false
	}
	return s.refusal(now), false
}

// refusal asks whoever judges definitions; empty means that nobody objects.
func (s *server) refusal(d *offering) string {
	if s.m.o.Judge == nil {
		return ""
	}
	if ok, why := s.m.o.Judge(s.Name, d.kind, d.raw); !ok {
		return cmp.Or(why, "its definition is refused")
	}
	return ""
}

// judge brings what a look has shown into what the server's tools are held for.
// What a connection has shown stays until a look at another one shows better:
// the end of a process proves nothing.
func (s *server) judge(l *link, v *view) {
	s.mu.Lock()
	for t := range s.left {
		if v.bad[t] == "" && !v.apart {
			delete(s.left, t)
		}
	}
	if l.dropped.Load() {
		s.leave(v)
	} else {
		s.views[l] = v
	}
	changed := s.hold()
	s.mu.Unlock()
	if changed {
		s.changed()
	}
}

// leave keeps what a connection had shown. The caller holds the lock.
func (s *server) leave(v *view) {
	maps.Copy(s.left, v.common())
}

// common is what of a view holds for everybody.
func (v *view) common() map[thing]string {
	held := map[thing]string{}
	for t, why := range v.bad {
		if !v.gone[t] && !v.apart {
			held[t] = why
		}
	}
	return held
}

// forget keeps what a connection that has ended had shown.
func (s *server) forget(l *link) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[l]
	if v == nil {
		return
	}
	delete(s.views, l)
	s.leave(v)
	s.hold()
}

// hold computes why things are held. The caller holds the lock. It reports
// whether what is available has changed.
func (s *server) hold() (changed bool) {
	held, more := maps.Clone(s.left), map[thing]bool{}
	for _, v := range s.views {
		maps.Copy(held, v.common())
		for _, t := range v.more {
			more[t] = true
		}
	}
	for t, why := range held {
		if _, known := s.held[t]; !known {
			changed = true
			s.m.o.Logger.Warn("what an MCP server offers is held back", "server", s.Name, "kind", t.kind, "name", s.shown(t), "why", why)
		}
	}
	for t := range s.held {
		if _, still := held[t]; !still {
			changed = true
			s.m.o.Logger.Info("what an MCP server offers is the accepted one again", "server", s.Name, "kind", t.kind, "name", s.shown(t))
		}
	}
	s.held, s.more = held, more
	return changed
}

// shown is the name of a thing for the log.
func (s *server) shown(t thing) string { return quoted(s.m.o.Cleaner.Text(t.key)) }

// available reports whether any of the things may be used.
func (s *server) available(things ...thing) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health.down == "" && s.health.out == "" && slices.ContainsFunc(things, func(t thing) bool { return s.held[t] == "" })
}

// Quarantined lists what is mounted and held back, and what is offered since
// servers were discovered and waits for a reload.
func (m *Mounts) Quarantined() (list []Left) {
	for _, s := range m.servers {
		s.mu.Lock()
		for t, why := range s.held {
			list = append(list, Left{Server: s.Name, Kind: t.kind, Tool: t.key, Why: why})
		}
		for t := range s.more {
			list = append(list, Left{Server: s.Name, Kind: t.kind, Tool: t.key, Why: "offered since the start, not mounted until a reload", New: true})
		}
		s.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Tool, b.Tool))
	})
	return list
}

// changed is told that the lists of a connection may have changed. The next
// call waits for a look; without one the server is looked at soon.
func (l *link) changed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale = true; len(l.s.Command) > 0 && l.relist == nil && !l.dropped.Load() {
		wait := max(0, relistPause-time.Since(l.looked))
		l.relist = time.AfterFunc(wait, l.relook)
	}
}

// relook looks at a server here that nobody calls.
func (l *link) relook() {
	l.mu.Lock()
	l.relist = nil
	l.mu.Unlock()
	if <-l.ready; l.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	if err := l.current(ctx, l.s); err != nil && ctx.Err() == nil {
		l.s.pool.drop(l)
	}
}

// current looks at a connection again when what was seen of it is not sure to
// hold any more, or was not seen by the server that asks. One look at a time
// serves all who wait.
func (l *link) current(ctx context.Context, s *server) error {
	select {
	case l.looking <- struct{}{}:
		defer func() { <-l.looking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	v := s.viewOf(l)
	l.mu.Lock()
	age := time.Since(l.looked)
	stale := l.stale || v == nil || len(v.bad) > 0 && age > relistPause || l.s.URL != "" && age > remoteAge
	l.stale = false
	l.mu.Unlock()
	if !stale {
		return nil
	}
	n, err := l.list(ctx)
	if err != nil {
		l.mu.Lock()
		l.stale = true
		l.mu.Unlock()
		return err
	}
	s.pool.look(l, n)
	return nil
}

// viewOf is what the last look at a connection has shown; nil without one.
func (s *server) viewOf(l *link) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[l]
}

// refuses says why a connection may not be asked for something that all of
// these are needed for, nil when it may.
func (s *server) refuses(l *link, name string, needs []thing) error {
	v := s.viewOf(l)
	if v != nil && len(needs) > 0 && !slices.ContainsFunc(needs, func(t thing) bool { return v.bad[t] != "" }) {
		return nil
	}
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: name, Detail: "Tool " + name + " is not currently available"}
}

// offers is what the servers that were discovered offer, as it came.
func (s *server) offers() *lock.Offer {
	s.mu.Lock()
	n := s.latest
	s.mu.Unlock()
	if n == nil {
		return nil
	}
	return &lock.Offer{
		Launch: s.Launch(), Identity: n.identity, Instructions: n.instructions,
		Tools: n.all[lock.KindTool], Prompts: n.all[lock.KindPrompt],
		Resources: n.all[lock.KindResource], Templates: n.all[lock.KindTemplate],
	}
}

// Offers is what each server that was discovered says it is and offers, as it
// came, by name: what package lock pins. Of the launch, the caller adds what
// the binary was resolved to.
func (m *Mounts) Offers() map[string]*lock.Offer {
	all := map[string]*lock.Offer{}
	for _, s := range m.servers {
		if o := s.offers(); o != nil {
			all[s.Name] = o
		}
	}
	return all
}

// Launch is how the server is started or reached, in the form of package lock,
// without what its binary was resolved to.
func (s *Server) Launch() lock.Launch {
	l := lock.Launch{Transport: lock.TransportStdio, Command: s.Command, URL: s.URL, Capabilities: s.capabilities()}
	if s.URL != "" {
		l.Transport = cmp.Or(s.Transport, lock.TransportHTTP)
	}
	for name := range s.Env {
		l.Env = append(l.Env, name)
	}
	for _, secret := range s.Secrets {
		l.Env = append(l.Env, secret.Env)
	}
	slices.Sort(l.Env)
	return l
}
