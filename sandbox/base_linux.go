package sandbox

import (
	"os"
	"slices"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// helperBase is the first message that every helper gets.
type helperBase struct {
	// shared is the message for helpers that run as the user of this process;
	// that of root covers what is closed to others as soon as one is needed.
	shared helperMessage
	closed bool
	all    helper.Base
	// system is how many steps show the system; the others show toolchains,
	// which may lie in a home.
	system int
}

// makeBase prepares it.
func (r *Runner) makeBase() (err error) {
	p := &r.platform
	b := helperBase{all: helper.Base{Namespaces: p.namespaces, Listen: p.namespaces, Counters: p.counters.inotify}}
	if p.namespaces {
		if b.all.Tree, err = r.baseOps(); err != nil {
			return err
		}
		// A toolchain among the system's files is theirs.
		var others []helper.Op
		for _, op := range r.toolchainOps() {
			if op.Do == helper.DoBind && ofSystem(op.Source) {
				b.all.Tree = append(b.all.Tree, op)
			} else {
				others = append(others, op)
			}
		}
		b.system = len(b.all.Tree)
		b.all.Tree = append(b.all.Tree, others...)
	}
	if b.shared, err = newMessage(helper.MsgBase, &b.all); err == nil {
		p.base = b
	}
	return err
}

// baseFor returns the base for a helper that was started at a time of the
// system's files, anew when they have changed.
func (r *Runner) baseFor(now systemStamp) (helperBase, error) {
	p := &r.platform
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if p.stamp == (systemStamp{}) || p.stamp == now {
		return p.base, nil
	}
	if err := r.makeBase(); err != nil {
		return helperBase{}, err
	}
	p.stamp = now
	return p.base, nil
}

// sharedBase returns the base for a helper that shares the user of this process.
func (r *Runner) sharedBase(now systemStamp) (helperMessage, error) {
	b, err := r.baseFor(now)
	if err != nil || !r.platform.namespaces || os.Geteuid() != 0 {
		return b.shared, err
	}
	p := &r.platform
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if p.base.closed {
		return p.base.shared, nil
	}
	covers, err := r.closedOps(p.base.all.Tree[:p.base.system])
	if err != nil {
		return helperMessage{}, err
	}
	all := p.base.all
	all.Tree = slices.Concat(all.Tree[:p.base.system], covers, all.Tree[p.base.system:])
	m, err := newMessage(helper.MsgBase, &all)
	if err == nil {
		p.base.shared, p.base.closed = m, true
	}
	return m, err
}
