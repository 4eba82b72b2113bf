package upstream

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/lock"
	"github.com/sallyport/sallyport/internal/text"
)

const (
	// relistPause is the pause between two listings that no call asks for, when
	// a server keeps announcing that its lists have changed.
	relistPause = 5 * time.Second
	// remoteAge is how long the lists of a remote server count as current. The
	// server can be replaced behind its address, and it announces nothing
	// outside a call.
	remoteAge = time.Minute
)

// offerView is what the last listing over one connection means for a server. It does
// not change.
type offerView struct {
	// bad says which accepted definitions are missing or different, and why.
	bad map[definitionKey]string
	// unlisted are those of bad that are merely not listed.
	unlisted map[definitionKey]bool
	// more is what was not offered when the server was discovered.
	more []definitionKey
	// apart says that the view counts for its connection alone. A server that
	// knows the principal can offer each principal something else.
	apart bool
}

// acceptListing stores what discovery has found. Until it is mounted, it becomes the
// accepted listing; a later one is only compared with it.
func (s *mountedServer) acceptListing(n *serverListing, l *connLink) {
	s.mu.Lock()
	first := s.accepted == nil || !s.toolsReturned
	if s.latest = n; first {
		s.accepted, s.role = n, l.key.personality
	}
	s.mu.Unlock()
	if !first {
		s.compareOffers(l, n)
	}
}

// compareOffers compares what a connection offers now with what is mounted.
func (s *mountedServer) compareOffers(l *connLink, n *serverListing) {
	s.mu.Lock()
	accepted, mounted, role := s.accepted, s.mounted, s.role
	s.mu.Unlock()
	v := &offerView{bad: map[definitionKey]string{}, unlisted: map[definitionKey]bool{}, apart: s.OAuth != nil && l.key.principal != ""}
	for t, d := range mounted {
		why, gone := s.compareDefinition(d, n)
		if why == "" {
			continue
		}
		v.bad[t] = why
		// A role with a smaller grant may be offered less. That says nothing
		// about this role.
		v.unlisted[t] = gone && l.key.personality != role
	}
	for _, d := range n.known {
		if accepted == nil || accepted.byKey[d.definitionKey] == nil {
			v.more = append(v.more, d.definitionKey)
		}
	}
	s.applyView(l, v)
}

// compareDefinition says why what is offered now is not what was accepted. gone says that
// it is not offered at all.
func (s *mountedServer) compareDefinition(d *offering, n *serverListing) (why string, gone bool) {
	now := n.byKey[d.definitionKey]
	switch {
	case n.failed[d.kind] != "":
		return n.failed[d.kind], false
	case now == nil:
		return "the server does not offer it any more", true
	case now.fault != "":
		return string(s.m.o.Cleaner.Text(now.fault)), false
	case now.digest != d.digest:
		return "its definition is not the one that was accepted", false
	}
	return s.checkDefinition(now), false
}

// checkDefinition asks Options.CheckDefinition about a definition. It returns the reason for a
// refusal, or "" when the definition is accepted.
func (s *mountedServer) checkDefinition(d *offering) string {
	if s.m.o.CheckDefinition == nil {
		return ""
	}
	if ok, why := s.m.o.CheckDefinition(s.Name, d.kind, d.raw); !ok {
		return cmp.Or(why, "its definition is refused")
	}
	return ""
}

// applyView updates what is held back according to a view. The finding of a
// connection that has ended stays until the view of another connection clears
// it, because the end of a process proves nothing.
func (s *mountedServer) applyView(l *connLink, v *offerView) {
	s.mu.Lock()
	for t := range s.left {
		if v.bad[t] == "" && !v.apart {
			delete(s.left, t)
		}
	}
	if l.dropped.Load() {
		maps.Copy(s.left, v.commonReasons())
	} else {
		s.views[l] = v
	}
	changed := s.updateHeld()
	s.mu.Unlock()
	if changed {
		s.m.o.Changed()
	}
}

// commonReasons returns the findings of a view that hold for all connections.
func (v *offerView) commonReasons() map[definitionKey]string {
	held := map[definitionKey]string{}
	for t, why := range v.bad {
		if !v.unlisted[t] && !v.apart {
			held[t] = why
		}
	}
	return held
}

// forgetConnection keeps the findings of a connection that has ended.
func (s *mountedServer) forgetConnection(l *connLink) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[l]
	if v == nil {
		return
	}
	delete(s.views, l)
	maps.Copy(s.left, v.commonReasons())
	s.updateHeld()
}

// updateHeld computes what is held back and why. The caller holds the lock. It
// reports whether the available definitions have changed.
func (s *mountedServer) updateHeld() (changed bool) {
	held, more := maps.Clone(s.left), map[definitionKey]bool{}
	for _, v := range s.views {
		maps.Copy(held, v.commonReasons())
		for _, t := range v.more {
			more[t] = true
		}
	}
	for t, why := range held {
		if _, known := s.held[t]; !known {
			changed = true
			s.m.o.Logger.Warn("what an MCP server offers is held back", "server", s.Name, "kind", t.kind, "name", s.logName(t), "why", why)
		}
	}
	for t := range s.held {
		if _, still := held[t]; !still {
			changed = true
			s.m.o.Logger.Info("what an MCP server offers is the accepted one again", "server", s.Name, "kind", t.kind, "name", s.logName(t))
		}
	}
	s.held, s.more = held, more
	return changed
}

// logName returns the name of a definition for the log.
func (s *mountedServer) logName(t definitionKey) string {
	const most = 80
	return quoteName(text.ClipBytes(string(s.m.o.Cleaner.Text(t.key)), most))
}

// isAnyAvailable reports whether at least one of the definitions may be used.
func (s *mountedServer) isAnyAvailable(keys ...definitionKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health.down == "" && s.health.out == "" && slices.ContainsFunc(keys, func(t definitionKey) bool { return s.held[t] == "" })
}

// Quarantined lists what is mounted and held back, and what servers offer since
// they were discovered, which waits for a reload.
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

// noteListChange records that the lists of a connection may have changed. The next
// call waits for a new listing. Without a call, the server is listed again
// soon.
func (l *connLink) noteListChange() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale = true; len(l.s.Command) > 0 && l.relist == nil && !l.dropped.Load() {
		wait := max(0, relistPause-time.Since(l.listedAt))
		l.relist = time.AfterFunc(wait, l.relistIdle)
	}
}

// relistIdle lists a server on this machine again while no call does.
func (l *connLink) relistIdle() {
	l.mu.Lock()
	l.relist = nil
	l.mu.Unlock()
	if <-l.ready; l.err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	if err := l.ensureCurrent(ctx, l.s); err != nil && ctx.Err() == nil {
		l.s.pool.dropLink(l)
	}
}

// ensureCurrent lists a connection again when its view may be outdated or the server
// that asks has none. Only one listing runs at a time; callers that wait share
// its result.
func (l *connLink) ensureCurrent(ctx context.Context, s *mountedServer) error {
	select {
	case l.listing <- struct{}{}:
		defer func() { <-l.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	v := s.viewOf(l)
	l.mu.Lock()
	age := time.Since(l.listedAt)
	stale := l.stale || v == nil || len(v.bad) > 0 && age > relistPause || l.s.URL != "" && age > remoteAge
	l.stale = false
	l.mu.Unlock()
	if !stale {
		return nil
	}
	n, err := l.listOffers(ctx)
	if err != nil {
		l.mu.Lock()
		l.stale = true
		l.mu.Unlock()
		return err
	}
	s.pool.compareAll(l, n)
	return nil
}

// viewOf returns the view of a connection; nil without one.
func (s *mountedServer) viewOf(l *connLink) *offerView {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[l]
}

// refuseRequest says why a connection may not be asked for something that needs all
// of these definitions; nil when it may.
func (s *mountedServer) refuseRequest(l *connLink, name string, needs []definitionKey) error {
	v := s.viewOf(l)
	if v != nil && len(needs) > 0 && !slices.ContainsFunc(needs, func(t definitionKey) bool { return v.bad[t] != "" }) {
		return nil
	}
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Resource: name, Detail: "Tool " + name + " is not currently available"}
}

// Offers returns what each discovered server says it is and offers, as
// received, by name. The caller adds the resolved binary to each launch and
// pins it.
func (m *Mounts) Offers() map[string]*Offer {
	all := map[string]*Offer{}
	for _, s := range m.servers {
		s.mu.Lock()
		n := s.latest
		s.mu.Unlock()
		if n == nil {
			continue
		}
		all[s.Name] = &Offer{
			Launch: s.Launch(), Identity: n.identity, Instructions: n.instructions,
			Tools: n.all[KindTool], Prompts: n.all[KindPrompt],
			Resources: n.all[KindResource], Templates: n.all[KindTemplate],
		}
	}
	return all
}

// Launch describes how the server is started or reached, without its resolved
// binary.
func (s *Server) Launch() Launch {
	l := Launch{Transport: lock.TransportStdio, Command: s.Command, URL: s.URL, Capabilities: s.allCapabilities()}
	if s.URL != "" {
		l.Transport = cmp.Or(s.Transport, TransportHTTP)
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
