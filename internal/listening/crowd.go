package listening

import (
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// CrowdOptions bound the connections of a server. Each bound has to be positive.
type CrowdOptions struct {
	// Strangers is how many connections may be open that nobody has shown to be
	// theirs yet. The one that waits for longest makes room for another.
	Strangers int
	// Patience is how long a stranger is given time before it makes room; 0
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

	mu        sync.Mutex
	conns     map[*member]struct{}
	strangers int
}

// NewCrowd returns an empty crowd.
func NewCrowd(o CrowdOptions) *Crowd {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	return &Crowd{o: o, conns: map[*member]struct{}{}}
}

// member is a connection of a crowd.
type member struct {
	net.Conn
	crowd *Crowd
	// since is when something happened last.
	since atomic.Int64
	gone  bool // guarded by the crowd
}

// Close closes the connection.
func (m *member) Close() error {
	m.crowd.mu.Lock()
	m.crowd.drop(m)
	m.crowd.mu.Unlock()
	return m.Conn.Close()
}

func (m *member) touch() { m.since.Store(time.Now().UnixNano()) }

// Listener returns a listener whose connections belong to the crowd.
func (c *Crowd) Listener(l net.Listener) net.Listener { return &gathering{l, c} }

// gathering is a listener whose connections belong to a crowd.
type gathering struct {
	net.Listener
	crowd *Crowd
}

// Accept waits for the next connection, and for room for it.
func (g *gathering) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		m := &member{Conn: conn, crowd: g.crowd}
		m.touch()
		if g.crowd.join(m) {
			return m, nil
		}
		_ = conn.Close()
	}
}

// join adds a stranger when there is room for one, soon.
func (c *Crowd) join(m *member) bool {
	for began := time.Now(); ; time.Sleep(crowdPause) {
		c.mu.Lock()
		oldest := (*member)(nil)
		full := c.strangers >= c.o.Strangers
		if full {
			oldest = c.oldest(func(o *member) bool {
				return time.Since(time.Unix(0, o.since.Load())) >= c.o.Patience
			})
			c.drop(oldest)
		}
		if room := !full || oldest != nil; room {
			c.conns[m] = struct{}{}
			c.strangers++
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

// oldest finds the connection that has done nothing for longest. The caller holds
// the lock.
func (c *Crowd) oldest(fits func(*member) bool) (oldest *member) {
	for m := range c.conns {
		if fits(m) && (oldest == nil || m.since.Load() < oldest.since.Load()) {
			oldest = m
		}
	}
	return oldest
}

// drop takes a connection out; nil is none. The caller holds the lock.
func (c *Crowd) drop(m *member) {
	if m == nil || m.gone {
		return
	}
	m.gone = true
	if _, known := c.conns[m]; !known {
		return
	}
	delete(c.conns, m)
	c.strangers--
}
