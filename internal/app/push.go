package app

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/internal/siem/push"
)

const (
	// pushPoll is the pause between two looks for new records.
	pushPoll = time.Second
	// pushEndWait bounds how long a server that ends goes on sending.
	pushEndWait = 5 * time.Second
)

// namedPusher sends the record to a collector.
type namedPusher struct {
	*push.Pusher
	name string
}

// StartPush begins to send the record to the collectors of the configuration. The function
// that it returns sends what is left, for a short time; call it when nothing is recorded any
// more. Without collectors nothing is done.
func (rt *Runtime) StartPush(ctx context.Context) (stop func(), err error) {
	c := rt.InForce().Config.Audit
	if len(c.Push) == 0 {
		return func() {}, nil
	}
	out, err := rt.openOutside()
	if err != nil {
		return nil, err
	}
	var list []namedPusher
	for _, target := range c.Push {
		u, err := url.Parse(target)
		if err != nil {
			return nil, err // the configuration admits none such
		}
		list = append(list, namedPusher{push.New(push.Options{
			Name: target, Records: rt.State, Kept: rt.Settings, Sender: push.NewSyslog(u, out.dial, out.tlsConfig(), Version()),
			Format: siem.Format(c.Format), Version: Version(), Poll: pushPoll, First: rt.Env.Intervals.withDefaults().Outward, Logger: rt.Logger,
		}), target})
	}
	rt.pushers.Store(&list)
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var workers sync.WaitGroup
	for _, p := range list {
		workers.Go(func() { p.Run(working) })
	}
	return func() {
		cancel()
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushEndWait)
		defer cancel()
		workers.Wait()
		for _, p := range list {
			workers.Go(func() { p.Finish(rest) })
		}
		workers.Wait()
		for _, p := range list {
			if s := p.Stats(); s.Behind > 0 {
				rt.Logger.Warn("the record is not sent to its end; the next start goes on", "to", p.name, "behind", s.Behind)
			}
		}
	}, nil
}

// countPushed returns what became of the record at each collector.
func countPushed(list []namedPusher) map[string]metrics.Exported {
	all := map[string]metrics.Exported{}
	for _, p := range list {
		s := p.Stats()
		all[p.name] = metrics.Exported{Sent: s.Sent, Lost: s.Lost, Behind: s.Behind}
	}
	return all
}
