package upstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/oauth"
)

const (
	// firstProbe and longestProbe bound how long a server that works for nobody
	// is left alone before it is asked again: doubled each time after soonTime.
	firstProbe, longestProbe = 3 * time.Second, 5 * time.Minute
	// soonTime is how long after its fall a server is asked again every
	// firstProbe: one that failed under load is used again within five seconds.
	soonTime = 2 * time.Minute
	// calmTime is how long the answer of a server stands against connections to
	// it that fail: they are then the trouble of a principal, which must not have
	// the server started without end.
	calmTime = time.Minute
)

// health is what is known of a server as a whole, whatever single connections
// to it show.
type health struct {
	// down says why it works for nobody; empty while it may for somebody.
	down string
	// login says that somebody has to log in, out the same when nobody is logged
	// in; mark is of the tokens with which it was asked last.
	login, out, mark string
	// suspect says that a connection has failed since it was asked last.
	suspect bool
	// asked, answered, wants and fault are what came of asking it: ever, and in
	// the probe that runs.
	asked, answered, wants bool
	fault                  string
	// silent counts the probes in a row that it did not answer, from soonTime
	// after it fell.
	silent int
	fell   time.Time
	// next is when it may be asked again, calm until when no failed connection
	// is a reason to, looked when it was last looked whether somebody is logged in.
	next, calm, looked time.Time
}

// brief is an error that says nothing of what the server said: it stands where
// the text of a server would be taken for the gate's own.
type brief struct{ text string }

func (b *brief) Error() string { return b.text }

// briefly is why a server cannot be used, in words of the gate.
func (s *server) briefly(err error) string {
	if b, ok := errors.AsType[*brief](err); ok {
		return b.text
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return s.plain(e.Detail)
	}
	return "the MCP server " + s.Name + " cannot be used"
}

// why says why the server, which is mounted, is of use to nobody; empty when it
// is to somebody.
func (s *server) why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil {
		return ""
	}
	return cmp.Or(s.health.down, s.health.out)
}

// absent is the failure of a call to a server that is of use to nobody; nil when
// it is to somebody.
func (s *server) absent() error {
	why := s.why()
	if why == "" {
		return nil
	}
	return &sallyport.Error{Code: sallyport.CodeNotAvailable, Detail: why}
}

// Unavailable lists the servers that are of use to nobody, and why: their tools
// say that they are not available until [Mounts.Probe] finds that they answer.
func (m *Mounts) Unavailable() map[string]string {
	all := map[string]string{}
	for _, s := range m.servers {
		if why := s.why(); why != "" {
			all[s.Name] = why
		}
	}
	return all
}

// Due lists the servers that are to be asked what they offer, with
// [Mounts.Probe]: they are of use to nobody, or connections to them fail and it
// is not known whether for everybody, or tokens for them have come or gone. It
// reads tokens and sends nothing; it is cheap enough for once a second.
func (m *Mounts) Due(ctx context.Context) (names []string) {
	for _, s := range m.servers {
		if s.due(ctx) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (s *server) due(ctx context.Context) bool {
	mark, logs := s.tokenMark(ctx, sallyport.LocalPrincipal)
	now := time.Now()
	s.mu.Lock()
	look := s.health.login != "" && now.Sub(s.health.looked) >= firstProbe
	s.mu.Unlock()
	if look {
		s.attend(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.health
	switch {
	case !h.asked || now.Before(h.next):
		return false
	case logs && h.login != "" && mark != "" && mark != h.mark, logs && h.login == "" && (mark == "") != (h.mark == ""):
		return true
	case s.accepted == nil:
		return false // who mounts it asks it again
	default:
		return h.down != "" || h.suspect && !now.Before(h.calm)
	}
}

// Probe has a server asked by ask, which calls its tool of [Mounts.Discovery] in
// the roles that may use the server. One that answers in none of them is of use
// to nobody; one that answers is again. Of probes that did not come to an end
// nothing follows. One at a time of each server: beside one that runs it does
// nothing.
func (m *Mounts) Probe(ctx context.Context, name string, ask func(context.Context)) {
	i := slices.IndexFunc(m.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return
	}
	s := m.servers[i]
	if !s.probing.TryLock() {
		return
	}
	defer s.probing.Unlock()
	s.mu.Lock()
	s.health.answered, s.health.wants, s.health.fault = false, false, ""
	s.mu.Unlock()
	ask(ctx)
	s.conclude(ctx)
}

// conclude draws the conclusion of a probe.
func (s *server) conclude(ctx context.Context) {
	now := time.Now()
	s.mu.Lock()
	h := &s.health
	before := h.down
	if h.answered || h.wants {
		h.down, h.suspect, h.silent = "", false, 0
		h.next, h.calm = now.Add(firstProbe), now.Add(calmTime)
	} else {
		if h.fault != "" && s.accepted != nil {
			h.down = h.fault
		}
		if before == "" && h.down != "" {
			h.fell = now
		}
		h.next = now.Add(min(firstProbe<<min(h.silent, 10), longestProbe))
		if now.Sub(h.fell) >= soonTime {
			h.silent++
		}
	}
	after := h.down
	s.mu.Unlock()
	s.attend(ctx)
	if (before == "") == (after == "") {
		return
	}
	if after == "" {
		s.pool.pardon()
		s.m.o.Logger.Info("MCP server answers again", "server", s.Name)
	} else {
		s.m.o.Logger.Warn("MCP server is not available", "server", s.Name, "why", after)
	}
	s.changed()
}

// changed has clients told.
func (s *server) changed() {
	if s.m.o.Changed != nil {
		s.m.o.Changed()
	}
}

// fallen says that the server works for nobody, and has it asked again soon.
func (s *server) fallen(why string) {
	s.mu.Lock()
	h := &s.health
	falls := s.accepted != nil && h.down == ""
	if falls {
		h.down, h.fell, h.next = why, time.Now(), time.Now().Add(firstProbe)
	}
	s.mu.Unlock()
	if falls {
		s.m.o.Logger.Warn("MCP server is not available", "server", s.Name, "why", why)
		s.changed()
	}
}

// note takes what came of asking the server, with the tokens of a mark.
func (s *server) note(mark string, err error) {
	login, wants := loginNeeded(err)
	fault := ""
	if err != nil && !wants {
		fault = s.briefly(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.health
	h.asked, h.mark = true, mark
	switch {
	case err == nil:
		h.answered, h.login = true, ""
	case wants:
		h.wants, h.login = true, login.Detail
	default:
		h.fault = fault
	}
}

// doubt is told that a connection has failed, or a process ended by itself.
func (s *server) doubt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.health.suspect = true
}

// tokenMark tells the tokens of a principal from others; logs is false for a
// server at which nobody logs in, or when its tokens cannot be read.
func (s *server) tokenMark(ctx context.Context, principal string) (mark string, logs bool) {
	if s.authority == nil || s.authority.Grant != oauth.AuthorizationCode {
		return "", false
	}
	mark, err := s.m.o.Tokens.Mark(ctx, &s.authority.Server, s.Holder(principal))
	return mark, err == nil
}

// attend looks whether the server wants a login and nobody is logged in: then it
// is of use to nobody.
func (s *server) attend(ctx context.Context) {
	s.mu.Lock()
	login, refused := s.health.login, s.health.mark
	s.mu.Unlock()
	out := login
	if login != "" && s.somebody(ctx, refused) {
		out = ""
	}
	s.mu.Lock()
	changed := (s.health.out == "") != (out == "")
	s.health.out, s.health.looked = out, time.Now()
	mounted := s.accepted != nil
	s.mu.Unlock()
	if changed && mounted {
		s.m.o.Logger.Info("logins at an MCP server have changed", "server", s.Name, "available", out == "")
		s.changed()
	}
}

// somebody reports whether a principal has tokens other than those that were
// refused.
func (s *server) somebody(ctx context.Context, refused string) bool {
	names := []string{sallyport.LocalPrincipal}
	if s.m.o.Principals != nil && !s.Shared {
		names = append(names, s.m.o.Principals(ctx)...)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		mark, _ := s.tokenMark(ctx, name)
		return mark != "" && mark != refused
	})
}
