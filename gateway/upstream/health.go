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
	// firstProbe and longestProbe bound how long a server that no principal can
	// use is left alone before the next probe. The pause is firstProbe until
	// soonTime has passed and then doubles each time.
	firstProbe, longestProbe = 3 * time.Second, 5 * time.Minute
	// soonTime is how long after its failure a server is probed every
	// firstProbe, so that one that failed under load is used again within five
	// seconds.
	soonTime = 2 * time.Minute
	// calmTime is how long a server counts as healthy after an answer, even if
	// connections to it fail. Such failures are the trouble of one principal,
	// which must not be able to have the server started again and again.
	calmTime = time.Minute
)

// serverHealth is what is known about a server as a whole, independent of single
// connections.
type serverHealth struct {
	// down says why no principal can use it; empty when it may work.
	down string
	// login says that a user has to log in. out is the same text while no user
	// is logged in, else empty. mark identifies the tokens of the last probe.
	login, out, mark string
	// suspect says that a connection has failed since the last probe.
	suspect bool
	// asked says whether the server was ever asked what it offers; answered,
	// wants and fault are the outcome of the running probe.
	asked, answered, wants bool
	fault                  string
	// late says that it did not list its tools in time when it was last asked.
	late bool
	// silent counts the probes in a row without an answer, starting soonTime
	// after the failure.
	silent int
	fell   time.Time
	// next is the time of the next probe. Until calm, failed connections cause
	// no probe. looked is when the logins were last checked.
	next, calm, looked time.Time
}

// redactedError is an error with a text that quotes nothing from the server. It is used
// where the server's text would be taken for the gate's own.
type redactedError struct {
	text string
	// late says that the server was started and did not list its tools in time.
	late bool
	// secret is what the accessor said of a secret that the server needs and that
	// cannot be had; nil for any other reason.
	secret error
}

func (b *redactedError) Error() string { return b.text }

func (b *redactedError) Unwrap() error { return b.secret }

// redactedReason says in the gate's own words why a server cannot be used.
func (s *mountedServer) redactedReason(err error) string {
	if b, ok := errors.AsType[*redactedError](err); ok {
		return b.text
	}
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return s.redactText(e.Detail)
	}
	return "the MCP server " + s.Name + " cannot be used"
}

// unavailableReason says why no principal can use the mounted server, or is empty when it may
// be used.
func (s *mountedServer) unavailableReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil {
		return ""
	}
	return cmp.Or(s.health.down, s.health.out)
}

// Unavailable lists the servers that no principal can use, with the reasons.
// Their tools are not available until [Mounts.Probe] finds that the servers
// answer.
func (m *Mounts) Unavailable() map[string]string {
	all := map[string]string{}
	for _, s := range m.servers {
		if why := s.unavailableReason(); why != "" {
			all[s.Name] = why
		}
	}
	return all
}

// Due lists the servers that should be asked with [Mounts.Probe] what they
// offer. Such a server is unusable for every principal, or some connections to
// it fail and it is not known whether all do, or tokens for it were added or
// removed. Due reads tokens and sends nothing; it is cheap enough to be called
// once a second.
func (m *Mounts) Due(ctx context.Context) (names []string) {
	for _, s := range m.servers {
		if s.isProbeDue(ctx) {
			names = append(names, s.Name)
		}
	}
	return names
}

func (s *mountedServer) isProbeDue(ctx context.Context) bool {
	mark, logs := s.tokenMark(ctx, sallyport.LocalPrincipal)
	now := time.Now()
	s.mu.Lock()
	look := s.health.login != "" && now.Sub(s.health.looked) >= firstProbe
	s.mu.Unlock()
	if look {
		s.checkLogin(ctx)
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
		return false // the mount asks it again
	default:
		return h.down != "" || h.suspect && !now.Before(h.calm)
	}
}

// Probe asks a server what it offers. ask calls the server's tool of
// [Mounts.Discovery] in the roles that may use the server. If the server
// answers in none of them, it becomes unavailable to every principal; if it
// answers, it is available again. A probe that does not finish changes nothing.
// Each server has one probe at a time: during a probe, a second one does
// nothing.
func (m *Mounts) Probe(ctx context.Context, name string, ask func(context.Context)) {
	s := m.findServer(name)
	if s == nil || !s.probing.TryLock() {
		return
	}
	defer s.probing.Unlock()
	s.mu.Lock()
	s.health.answered, s.health.wants, s.health.fault = false, false, ""
	s.mu.Unlock()
	ask(ctx)
	s.concludeProbe(ctx)
}

// concludeProbe applies the outcome of a probe.
func (s *mountedServer) concludeProbe(ctx context.Context) {
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
	s.checkLogin(ctx)
	if (before == "") == (after == "") {
		return
	}
	if after == "" {
		s.pool.forgetAllFailures()
		s.m.o.Logger.Info("MCP server answers again", "server", s.Name)
	} else {
		s.m.o.Logger.Warn("MCP server is not available", "server", s.Name, "why", after)
	}
	s.m.o.Changed()
}

// markUnavailable marks the server as unusable for every principal and schedules a probe
// soon.
func (s *mountedServer) markUnavailable(why string) {
	s.mu.Lock()
	h := &s.health
	falls := s.accepted != nil && h.down == ""
	if falls {
		h.down, h.fell, h.next = why, time.Now(), time.Now().Add(firstProbe)
	}
	s.mu.Unlock()
	if falls {
		s.m.o.Logger.Warn("MCP server is not available", "server", s.Name, "why", why)
		s.m.o.Changed()
	}
}

// recordProbe records the outcome of asking the server with the tokens of a mark.
func (s *mountedServer) recordProbe(mark string, err error) {
	login, wants := loginNeeded(err)
	fault := ""
	if err != nil && !wants {
		fault = s.redactedReason(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := &s.health
	h.asked, h.mark, h.late = true, mark, isLate(err)
	switch {
	case err == nil:
		h.answered, h.login = true, ""
	case wants:
		h.wants, h.login = true, login.Detail
	default:
		h.fault = fault
	}
}

// isLate reports whether an error is that of a server that did not list its tools in
// time.
func isLate(err error) bool {
	e, ok := errors.AsType[*redactedError](err)
	return ok && e.late
}

// WasLate reports whether a server did not list its tools in time when it was last
// asked what it offers.
func (m *Mounts) WasLate(name string) bool {
	s := m.findServer(name)
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.health.late
}

// tokenMark returns a value that identifies the tokens of a principal. logs is
// false for a server without user logins, or when the tokens cannot be read.
func (s *mountedServer) tokenMark(ctx context.Context, principal string) (mark string, logs bool) {
	if s.authority == nil || s.authority.Grant != oauth.AuthorizationCode {
		return "", false
	}
	mark, err := s.m.o.Tokens.Mark(ctx, &s.authority.Server, s.Holder(principal))
	return mark, err == nil
}

// checkLogin checks whether the server needs a login while no user is logged in.
// The server is then unavailable.
func (s *mountedServer) checkLogin(ctx context.Context) {
	s.mu.Lock()
	login, refused := s.health.login, s.health.mark
	s.mu.Unlock()
	out := login
	if login != "" && s.hasOtherTokens(ctx, refused) {
		out = ""
	}
	s.mu.Lock()
	changed := (s.health.out == "") != (out == "")
	s.health.out, s.health.looked = out, time.Now()
	mounted := s.accepted != nil
	s.mu.Unlock()
	if changed && mounted {
		s.m.o.Logger.Info("logins at an MCP server have changed", "server", s.Name, "available", out == "")
		s.m.o.Changed()
	}
}

func (s *mountedServer) hasOtherTokens(ctx context.Context, refused string) bool {
	names := []string{sallyport.LocalPrincipal}
	if s.m.o.Principals != nil && !s.Shared {
		names = append(names, s.m.o.Principals(ctx)...)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		mark, _ := s.tokenMark(ctx, name)
		return mark != "" && mark != refused
	})
}
