package app

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/metrics"
)

// openMetrics begins to count.
func (rt *Runtime) openMetrics() {
	ready := rt.NewReadiness()
	rt.Metrics = metrics.New(Version(), func(ctx context.Context) metrics.Snapshot { return rt.takeSnapshot(ctx, ready) })
}

// takeSnapshot looks at the present state for the metrics. What cannot be found out is left
// out: a scrape must not fail because of one part.
func (rt *Runtime) takeSnapshot(ctx context.Context, ready *Readiness) metrics.Snapshot {
	s := metrics.Snapshot{
		Ready: ready.CheckFresh(ctx) == nil, Waiting: -1, HeadSeq: -1, StateBytes: -1,
		Running: rt.runs.Len(), Children: rt.Children.Running(), LinesDropped: rt.lines.Dropped(),
	}
	if rt.spans != nil {
		s.Spans = &metrics.Exported{}
		s.Spans.Sent, s.Spans.Lost = rt.spans.CountSpans()
	}
	if held, err := rt.Approvals.List(ctx, false); err == nil {
		s.Waiting = 0
		now := time.Now()
		for i := range held {
			if held[i].StateAt(now) != sallyport.ApprovalPending {
				continue
			}
			s.Waiting++
			if s.Oldest.IsZero() || held[i].Created.Before(s.Oldest) {
				s.Oldest = held[i].Created
			}
		}
	}
	for rec, err := range rt.State.Read(ctx, audit.Query{Last: 1}) {
		if err == nil {
			s.HeadSeq, s.HeadTime = rec.Seq, time.Unix(0, rec.Time)
		}
	}
	if n := rt.notices.Load(); n != nil {
		s.Notices = map[string]metrics.Exported{}
		for name, c := range n.Counts() {
			s.Notices[name] = metrics.Exported{Sent: c.Sent, Lost: c.Lost, Behind: c.Waiting}
		}
	}
	if path := rt.InForce().Config.State.Path; path != "" {
		s.StateBytes = sizeOf(path) + sizeOf(path+"-wal") + sizeOf(path+"-log")
	}
	if w := rt.anchors.Load(); w != nil {
		s.Anchors = w.countAnchors()
	}
	if list := rt.pushers.Load(); list != nil {
		s.Exported = countPushed(*list)
	}
	if l := rt.Live.Load(); l != nil {
		s.Level, s.Upstreams = rt.lookAtServers(l.deployment.Load())
	}
	return s
}

// lookAtServers returns the level that confines children, once a child was asked for,
// and which MCP servers answer.
func (rt *Runtime) lookAtServers(t *Deployment) (level string, up map[string]bool) {
	if t.Servers.Mounts == nil {
		return string(t.Config.Sandbox.Level), nil
	}
	up = map[string]bool{}
	away := t.Servers.Mounts.Unavailable()
	for i := range t.Servers.Declared {
		name := t.Servers.Declared[i].Name
		up[name] = away[name] == ""
	}
	return string(t.Config.Sandbox.Level), up
}

// sizeOf returns the size of a file, or of the files in a folder, in bytes.
func sizeOf(path string) (bytes int64) {
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
