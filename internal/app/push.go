package app

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/logging"
	"github.com/sallyport/sallyport/internal/metrics"
	"github.com/sallyport/sallyport/internal/otlp"
	"github.com/sallyport/sallyport/internal/siem"
	"github.com/sallyport/sallyport/internal/siem/push"
	"github.com/sallyport/sallyport/internal/tracing"
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
	for i := range c.Push {
		o := push.Options{
			Records: rt.State, Kept: rt.Settings, Format: siem.Format(c.Format), Version: Version(),
			Poll: pushPoll, First: rt.Env.Intervals.withDefaults().Outward, Logger: rt.Logger,
		}
		if err := rt.addSender(&o, out, i); err != nil {
			return nil, err
		}
		list = append(list, namedPusher{push.New(o), o.Name})
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

// addSender adds the sender to the collector at an index of the configuration, and its name.
// The path of an address may hold a secret, so that the name is its host alone.
func (rt *Runtime) addSender(o *push.Options, out *outside, i int) error {
	c := &rt.InForce().Config.Audit.Push[i]
	u, err := url.Parse(cmp.Or(c.Syslog, c.URL))
	if err != nil {
		return errors.New("audit.push: the address of a collector cannot be read") // the configuration admits none such
	}
	if c.Syslog != "" {
		o.Name, o.Sender = c.Syslog, push.NewSyslog(u, out.dial, out.tlsConfig(), Version())
		return nil
	}
	sum := sha256.Sum256([]byte(c.URL))
	o.Name, o.Position = u.Scheme+"://"+u.Host, "otlp/"+hex.EncodeToString(sum[:8])
	header := func(ctx context.Context) (http.Header, error) {
		return rt.collectorHeader(ctx, fmt.Sprintf("audit.push.%d.otlp", i), c.Headers)
	}
	o.Sender = push.NewOTLP(otlp.NewClient(c.URL, header, out.dial, out.tlsConfig()), otlp.Source{Version: Version(), Instance: logging.NewID()}, describeLine)
	return nil
}

// describeLine returns the attributes of a record for a collector of OpenTelemetry: those of
// the span of a call, and its place in the record.
func describeLine(l *siem.Line) []tracing.Attr {
	var s tracing.Span
	e := &l.Event
	s.SetNumber(tracing.KeyRecord, e.Seq)
	s.SetText(tracing.KeyRecordHash, l.Hash.String())
	if e.Change != nil {
		s.SetText(tracing.KeyChange, string(e.Change.Action))
	} else {
		nameSpan(&s, nil, e)
	}
	describeEvent(&s, e)
	if e.Kind == audit.KindOutcome && !e.OK || e.Kind == audit.KindChange && e.Error != "" {
		s.FailWith(errorType(nil, e))
	}
	return s.Attrs
}

// countPushed returns what became of the record at each collector. Collectors with one name
// are one.
func countPushed(list []namedPusher) map[string]metrics.Exported {
	all := map[string]metrics.Exported{}
	for _, p := range list {
		s, other := p.Stats(), all[p.name]
		all[p.name] = metrics.Exported{Sent: other.Sent + s.Sent, Lost: other.Lost + s.Lost, Behind: max(other.Behind, s.Behind)}
	}
	return all
}
