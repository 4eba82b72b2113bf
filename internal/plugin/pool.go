package plugin

import (
	"context"
	"slices"
	"sync"
	"time"
)

// poolKey says for whom an instance has run: what it remembers stays with one tool,
// in one session, of one principal in one role.
type poolKey struct{ tool, session, principal, role string }

// maxStacks is how many idle instances keep the stack of their last call, which lies outside
// of their memory.
const maxStacks = 4

// instancePool bounds the instances that run, and keeps those whose session may call
// again soon.
type instancePool struct {
	plugin *Plugin
	slots  chan struct{} // one for each instance that runs

	mu     sync.Mutex
	closed bool
	idle   []*instance // the longest idle first
	shares map[string]*share
}

// share is what one principal may run at once.
type share struct {
	slots   chan struct{}
	holders int
}

func (p *instancePool) startInstance(plugin *Plugin) {
	p.plugin, p.slots, p.shares = plugin, make(chan struct{}, maxInstances), map[string]*share{}
}

// takeInstance returns an instance that this caller alone has used, or a new one. It waits
// while too many run.
func (p *instancePool) takeInstance(ctx context.Context, key poolKey) (i *instance, err error) {
	s := p.joinQueue(key.principal)
	defer func() {
		if err != nil {
			p.leaveQueue(key.principal)
		}
	}()
	if err := acquireInstance(ctx, s.slots); err != nil {
		return nil, err
	}
	if err := acquireInstance(ctx, p.slots); err != nil {
		<-s.slots
		return nil, err
	}
	if i = p.findIdle(key); i != nil {
		return i, nil
	}
	if i, err = p.plugin.startInstance(ctx, &run{}); err != nil {
		<-p.slots
		<-s.slots
		return nil, err
	}
	i.key = key
	return i, nil
}

func acquireInstance(ctx context.Context, slots chan struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveBack takes an instance back after a call. One that failed is closed, and one that no
// session names.
func (p *instancePool) giveBack(i *instance, usable bool) {
	key := i.key
	if !usable || key.session == "" || !p.keepInstance(i) {
		i.close()
	}
	<-p.slots
	p.mu.Lock()
	s := p.shares[key.principal]
	p.mu.Unlock()
	<-s.slots
	p.leaveQueue(key.principal)
}

// keepInstance stores an instance for the next call of its session, for a while.
func (p *instancePool) keepInstance(i *instance) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if len(p.idle) == maxIdle {
		oldest := p.idle[0]
		oldest.stop()
		oldest.close()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	i.stop = time.AfterFunc(idleTime, func() { p.dropInstance(i) }).Stop
	p.idle = append(p.idle, i)
	if at := len(p.idle) - 1 - maxStacks; at >= 0 {
		clear(p.idle[at].asked) // the stack, which may be large, goes with the function
	}
	return true
}

// dropInstance closes an instance that nothing has used for a while.
func (p *instancePool) dropInstance(i *instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := slices.Index(p.idle, i); at >= 0 {
		p.idle = slices.Delete(p.idle, at, at+1)
		i.close()
	}
}

// findIdle takes the instance that this caller used last, if it is still there.
func (p *instancePool) findIdle(key poolKey) *instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	for at, i := range slices.Backward(p.idle) {
		if i.key == key && key.session != "" {
			i.stop()
			p.idle = slices.Delete(p.idle, at, at+1)
			return i
		}
	}
	return nil
}

func (p *instancePool) joinQueue(principal string) *share {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shares[principal]
	if s == nil {
		s = &share{slots: make(chan struct{}, maxOfPrincipal)}
		p.shares[principal] = s
	}
	s.holders++
	return s
}

func (p *instancePool) leaveQueue(principal string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.shares[principal]; s != nil {
		if s.holders--; s.holders == 0 {
			delete(p.shares, principal)
		}
	}
}

// close frees every instance that waits; none is kept any more.
func (p *instancePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, i := range p.idle {
		i.stop()
		i.close()
	}
	p.idle = nil
}
