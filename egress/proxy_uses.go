package egress

import (
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
)

// maxUses bounds the hosts that were allowed, and as many those that were
// refused. The child chooses the names, and the list goes into a record of the
// call; names that are refused cost nothing, and must not hide one that is not.
const maxUses = 256

// An entry with this host, which is none, sums up those beyond the bound.
const (
	hostMore = "*"
	whyMore  = "further hosts, summed up"
)

// hostUses is what the child was seen to ask for. The zero value is empty.
type hostUses struct {
	mu    sync.Mutex
	byKey map[useKey]*hostUse
	order []*hostUse
	// allowed and refused count the entries of each kind without its sum.
	allowed, refused int
	// logger gets a warning of what the operator can mend; nil means no log.
	logger *slog.Logger
}

type useKey struct {
	host    string
	port    uint16
	allowed bool
}

// hostUse is one entry. The counts move while the list is read.
type hostUse struct {
	key            useKey
	connections    atomic.Int64
	sent, received atomic.Int64

	mu       sync.Mutex
	why, fix string
}

// entryFor returns the entry of a host, the one that sums up beyond the bound.
func (u *hostUses) entryFor(host string, port uint16, allowed bool) *hostUse {
	key := useKey{host, port, allowed}
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.byKey[key]; s != nil {
		return s
	}
	count := &u.refused
	if allowed {
		count = &u.allowed
	}
	full := *count >= maxUses
	if full {
		key = useKey{host: hostMore, allowed: allowed}
		if s := u.byKey[key]; s != nil {
			return s
		}
	}
	if u.byKey == nil {
		u.byKey = map[useKey]*hostUse{}
	}
	s := &hostUse{key: key}
	if full {
		s.why = whyMore
	} else {
		*count++
	}
	u.byKey[key] = s
	u.order = append(u.order, s)
	return s
}

// recordOutcome counts a connection or request and remembers how it was decided. A
// failure that is no refusal belongs to a host that was allowed.
func (u *hostUses) recordOutcome(host string, port uint16, err error) {
	refusal, why := refusalOf(err)
	s := u.entryFor(host, port, !refusal)
	s.connections.Add(1)
	if s.setReason(why) && errors.Is(err, errMisplaced) {
		s.mu.Lock()
		s.fix = fixPlace
		s.mu.Unlock()
		if u.logger != nil {
			u.logger.Warn("a child's request was refused", "host", host, "why", why, "fix", fixPlace)
		}
	}
}

// recordMalformed counts a request whose target could not be understood. What it
// named is kept as far as the error shows it, quoted and cut.
func (u *hostUses) recordMalformed(err *sallyport.Error) { u.recordOutcome(err.Resource, 0, err) }

// setReason stores the first reason, and reports whether this is it.
func (s *hostUse) setReason(why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.why == "" && why != ""
	if first {
		s.why = why
	}
	return first
}

// hasRefused reports whether anything was refused.
func (u *hostUses) hasRefused() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.refused > 0
}

// listUses returns what was counted, in the order in which it began.
func (u *hostUses) listUses() []sallyport.HostUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := make([]sallyport.HostUse, 0, len(u.order))
	for _, s := range u.order {
		s.mu.Lock()
		out = append(out, sallyport.HostUse{
			Host: s.key.host, Port: s.key.port, Allowed: s.key.allowed, Why: s.why, Fix: s.fix,
			Connections: int(s.connections.Load()), Sent: s.sent.Load(), Received: s.received.Load(),
		})
		s.mu.Unlock()
	}
	return out
}
