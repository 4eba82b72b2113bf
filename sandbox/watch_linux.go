package sandbox

import (
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

// maxSeen bounds each list of what a child touched.
const maxSeen = 100

// startsPerSecond bounds how many executions of one child are looked at in a
// second; beyond it the callers wait. A look costs this process up to 0.2 ms
// that no limit of the child counts, while a build that is busy with starting
// programs starts some hundred in a second.
const startsPerSecond = 500

// startThrottle spreads events so that no more than startsPerSecond are read in
// a second on the average, after a burst of as many. The zero value is ready.
type startThrottle struct{ due time.Time }

// nextDelay counts one event and returns how long to wait before the next one;
// it is not positive while there is room.
func (p *startThrottle) nextDelay(now time.Time) time.Duration {
	if full := now.Add(-time.Second); p.due.Before(full) {
		p.due = full
	}
	p.due = p.due.Add(time.Second / startsPerSecond)
	return p.due.Sub(now)
}

// startedPrograms collects the programs that a child starts.
type startedPrograms struct {
	// init is the process that waits for the program, 0 where there is none.
	init  int
	mu    sync.Mutex
	paths []string
	more  bool
}

// addPath adds a path and reports whether there is room for another.
func (s *startedPrograms) addPath(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case path == "" || slices.Contains(s.paths, path):
	case len(s.paths) == maxSeen:
		s.more = true
	default:
		s.paths = append(s.paths, path)
	}
	return !s.more
}

// followEvents records the events of a listener until it ends. When the list is
// full, what else is started only has to be let go on, without a look at it.
func (s *startedPrograms) followEvents(next func(blind bool) (seccomp.Event, error), now func() time.Time, sleep func(time.Duration)) {
	var p startThrottle
	for blind := false; ; {
		e, err := next(blind)
		if err != nil {
			return
		}
		if s.init != 0 && e.PID == s.init {
			continue // a helper becomes the init once, and nothing else
		}
		if !blind {
			blind = !s.addPath(e.File)
		}
		if d := p.nextDelay(now()); d > 0 {
			sleep(d)
		}
	}
}

// watchPrograms follows which programs a child starts. It decides nothing: by
// the time a path is read, the child may have changed it.
func (r *Runner) watchPrograms(c *childProcess, fd int) error {
	l, err := seccomp.NewListener(fd)
	if err != nil {
		return err
	}
	if c.watches != nil {
		l.Count = c.watches.addWatch
	}
	s := &startedPrograms{}
	if r.platform.namespaces {
		s.init = c.proc.Pid
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.followEvents(func(blind bool) (seccomp.Event, error) {
			l.Blind = blind
			return l.Next()
		}, time.Now, time.Sleep)
	}()
	c.report = append(c.report, func(res *sallyport.ProcessResult) {
		l.Close()
		<-done
		res.Touched.Binaries, res.Touched.More = s.paths, res.Touched.More || s.more
	})
	// A child that was never let run is not reported on.
	c.atEnd(func() { l.Close() })
	return nil
}
