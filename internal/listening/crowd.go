package listening

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// CrowdOptions bound the connections of a server. Each bound has to be positive.
type CrowdOptions struct {
	// Unidentified is how many connections may be open that no principal has shown to be
	// theirs yet. The one that waits for longest makes room for another.
	Unidentified int
	// Known is how many others may be open; an owner may have three quarters.
	Known int
	// UnidentifiedShare and KnownShare bound them to the parts 1/n of the descriptors
	// that the process may open, as long as the system says so; 0 does not.
	UnidentifiedShare, KnownShare int
	// Patience is how long such a connection is given time before it makes room; 0
	// means 200 milliseconds. While all are younger, accepting waits.
	Patience time.Duration
}

const (
	defaultPatience = 200 * time.Millisecond
	// crowdPause is how often it is looked whether there is room, crowdWait for
	// how long.
	crowdPause, crowdWait = 5 * time.Millisecond, time.Second
)

// Crowd is the connections of a server, by who they belong to. It is safe for
// concurrent use.
type Crowd struct {
	o CrowdOptions

	mu           sync.Mutex
	conns        map[*crowdMember]struct{}
	unidentified int
	byOwner      map[string]int
}

// NewCrowd returns an empty crowd.
func NewCrowd(o CrowdOptions) *Crowd {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	return &Crowd{o: o, conns: map[*crowdMember]struct{}{}, byOwner: map[string]int{}}
}

// crowdMember is a connection of a crowd.
type crowdMember struct {
	net.Conn
	crowd *Crowd
	// owner is nil until it is known, busy while a request is answered, since when
	// the last of that changed.
	owner   atomic.Pointer[string]
	busy    atomic.Int32 // requests: HTTP/2 has several at once
	since   atomic.Int64
	removed bool // guarded by the crowd
}

// Close closes the connection.
func (m *crowdMember) Close() error {
	m.crowd.mu.Lock()
	m.crowd.removeMember(m)
	m.crowd.mu.Unlock()
	return m.Conn.Close()
}

// CloseWrite says that nothing more is written.
func (m *crowdMember) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (m *crowdMember) markActive() { m.since.Store(time.Now().UnixNano()) }

// Listener returns a listener whose connections belong to the crowd.
func (c *Crowd) Listener(l net.Listener) net.Listener { return &crowdListener{l, c} }

// crowdListener is a listener whose connections belong to a crowd.
type crowdListener struct {
	net.Listener
	crowd *Crowd
}

// Accept waits for the next connection, and for room for it.
func (g *crowdListener) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m := &crowdMember{Conn: conn, crowd: g.crowd}
		m.markActive()
		if g.crowd.addMember(m) {
			return m, nil
		}
		_ = conn.Close()
	}
}

// addMember adds a connection when there is room for it, soon.
func (c *Crowd) addMember(m *crowdMember) bool {
	for began := time.Now(); ; time.Sleep(crowdPause) {
		c.mu.Lock()
		oldest := (*crowdMember)(nil)
		full := c.unidentified >= clampBound(c.o.Unidentified, c.o.UnidentifiedShare)
		if full {
			oldest = c.oldestIdle(func(o *crowdMember) bool {
				return o.owner.Load() == nil && time.Since(time.Unix(0, o.since.Load())) >= c.o.Patience
			})
			c.removeMember(oldest)
		}
		if room := !full || oldest != nil; room {
			c.conns[m] = struct{}{}
			c.unidentified++
		}
		c.mu.Unlock()
		switch {
		case oldest != nil:
			_ = oldest.Conn.Close()
			return true
		case !full:
			return true
		case time.Since(began) > crowdWait:
			return false
		}
	}
}

// oldestIdle finds the connection that has done nothing for longest, of those that
// answer no request. The caller holds the lock.
func (c *Crowd) oldestIdle(fits func(*crowdMember) bool) (oldest *crowdMember) {
	for m := range c.conns {
		if m.busy.Load() == 0 && fits(m) && (oldest == nil || m.since.Load() < oldest.since.Load()) {
			oldest = m
		}
	}
	return oldest
}

// removeMember removes a connection; nil is none. The caller holds the lock.
func (c *Crowd) removeMember(m *crowdMember) {
	if m == nil || m.removed {
		return
	}
	m.removed = true
	if _, known := c.conns[m]; !known {
		return
	}
	delete(c.conns, m)
	if owner := m.owner.Load(); owner == nil {
		c.unidentified--
	} else {
		c.releaseOwner(*owner)
	}
}

// releaseOwner subtracts one connection from the count of an owner. The caller holds the lock.
func (c *Crowd) releaseOwner(owner string) {
	if c.byOwner[owner]--; c.byOwner[owner] == 0 {
		delete(c.byOwner, owner)
	}
}

type memberKey struct{}

// Context makes a connection known to its requests: see [http.Server].
func (c *Crowd) Context(ctx context.Context, conn net.Conn) context.Context {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn() // the connection under TLS
	}
	return context.WithValue(ctx, memberKey{}, conn)
}

// Attend wraps the handler of all requests: a connection whose request is
// answered does not make room.
func (c *Crowd) Attend(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m, ok := r.Context().Value(memberKey{}).(*crowdMember); ok {
			m.busy.Add(1)
			defer func() {
				m.markActive()
				m.busy.Add(-1)
			}()
		}
		next.ServeHTTP(w, r)
	})
}

// Admit says to whom the connection of a request belongs. When there is no room,
// the idle connection that has done nothing for longest makes room, of the owner
// who has most and more than this one. It reports whether there is room.
func (c *Crowd) Admit(ctx context.Context, owner string) bool {
	m, ok := ctx.Value(memberKey{}).(*crowdMember)
	if !ok {
		return true
	}
	was := m.owner.Load()
	if was != nil && *was == owner {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := clampBound(c.o.Known, c.o.KnownShare)
	if c.byOwner[owner] >= max(1, known*3/4) || was == nil && len(c.conns)-c.unidentified >= known && !c.makeRoom(owner) {
		return false
	}
	if m.removed {
		return true // it ends anyway
	}
	if was == nil {
		c.unidentified--
	} else {
		c.releaseOwner(*was)
	}
	c.byOwner[owner]++
	m.owner.Store(&owner)
	return true
}

// clampBound returns a bound, and not above a part of the descriptors.
func clampBound(most, share int) int {
	if share > 0 {
		if part := Share(share); part > 0 {
			return min(most, part)
		}
	}
	return most
}

// makeRoom closes an idle connection of the owner who has most of those who have
// more than another will have. The caller holds the lock.
func (c *Crowd) makeRoom(comes string) bool {
	most := c.byOwner[comes] + 1
	var yields *crowdMember
	for m := range c.conns {
		owner := m.owner.Load()
		if owner == nil || m.busy.Load() > 0 {
			continue
		}
		n := c.byOwner[*owner]
		if n > most || n == most && yields != nil && m.since.Load() < yields.since.Load() {
			most, yields = n, m
		}
	}
	if yields == nil {
		return false
	}
	c.removeMember(yields)
	_ = yields.Conn.Close()
	return true
}
