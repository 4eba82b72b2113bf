package registry

import (
	"math"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/dashboard"
	"github.com/sallyport/sallyport/output"
)

// maxMessage bounds a progress message in code points: it is a line for
// people, not a result.
const maxMessage = 1000

// progressReporter passes the reports of a running tool on: named, cleaned,
// bounded, and none after the call. The sink belongs to an edge whose stream
// ends with the call, so that nothing may reach it later.
type progressReporter struct {
	call *call
	sink func(sallyport.Progress) // the caller's; nil drops everything

	mu     sync.Mutex
	active int           // reports that the sink has not taken yet
	over   bool          // no further report
	idle   chan struct{} // made by close, closed when none is active
}

// passProgress has the tool's reports reach the caller until the reporter that it
// returns is closed.
func (c *call) passProgress() *progressReporter {
	c.progress.call, c.progress.sink = c, c.caller.Progress
	if c.out.Emit = dropReport; c.progress.sink != nil || c.r.o.Dashboard != nil || c.r.runs.watchers.Load() > 0 {
		c.out.Emit = c.progress.emitReport
	}
	return &c.progress
}

// dropReport takes the reports of a call whose caller wants none.
func dropReport(sallyport.Progress) {}

func (p *progressReporter) emitReport(e sallyport.Progress) {
	c := p.call
	if p.sink == nil && c.r.runs.watchers.Load() == 0 && (e.VisibleTo() == sallyport.AudienceInternal || !c.r.o.Dashboard.IsWatched()) {
		return
	}
	e.Tool, e.Audience = c.q.Tool, e.VisibleTo()
	if e.Percent != nil {
		if n := min(max(*e.Percent, 0), 100); math.IsNaN(n) {
			e.Percent = nil
		} else {
			e.Percent = &n
		}
	}
	message, _ := output.Trim(c.cleaner().Text(e.Message), maxMessage)
	p.deliverReport(e, message)
}

// deliverReport gives a report with this message to the sink, unless the call
// is over.
func (p *progressReporter) deliverReport(e sallyport.Progress, message output.Clean) {
	if e.Message = string(message); p.beginReport() {
		defer p.endReport()
		p.call.r.runs.noteProgress(&p.call.entered, e)
		p.call.rememberSaid(e.Message)
		if p.sink != nil {
			p.sink(e)
		}
		if c := p.call; e.Audience != sallyport.AudienceInternal && c.r.o.Dashboard.IsWatched() {
			c.r.o.Dashboard.Publish(dashboard.Event{Progress: e, Principal: c.caller.Principal.Name, Session: c.session, Call: c.id})
		}
	}
}

// beginReport counts a report that begins; false means that it is too late.
func (p *progressReporter) beginReport() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	p.active++
	return true
}

// endReport counts a report that was handed over.
func (p *progressReporter) endReport() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.active--; p.active == 0 && p.idle != nil {
		close(p.idle)
	}
}

// close drops later reports and waits for those on their way, but not for ever:
// a sink that hangs must not keep the call.
func (p *progressReporter) close() {
	p.mu.Lock()
	p.over = true
	if p.active == 0 {
		p.mu.Unlock()
		return
	}
	p.idle = make(chan struct{})
	p.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.idle:
	case <-timer.C:
	}
}
