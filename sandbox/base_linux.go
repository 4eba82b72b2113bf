package sandbox

import "github.com/sallyport/sallyport/sandbox/internal/helper"

// makeBase prepares what every helper is told first.
func (r *Runner) makeBase() (err error) {
	p := &r.platform
	base := helper.Base{Namespaces: p.namespaces, Listen: p.namespaces}
	if p.namespaces {
		if base.Tree, err = r.base(); err != nil {
			return err
		}
	}
	p.base, err = newMessage(helper.MsgBase, &base)
	return err
}

// baseFor returns the base for a helper that was started at a time of the
// system's files, anew when they have changed.
func (r *Runner) baseFor(now stamp) (message, error) {
	p := &r.platform
	p.renewing.Lock()
	defer p.renewing.Unlock()
	if p.stamp == (stamp{}) || p.stamp == now {
		return p.base, nil
	}
	if err := r.makeBase(); err != nil {
		return message{}, err
	}
	p.stamp = now
	return p.base, nil
}
