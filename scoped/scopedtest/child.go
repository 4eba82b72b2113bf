package scopedtest

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/sallyport/sallyport"
)

// playedChild is a process that is played.
type playedChild struct {
	cancel context.CancelFunc
	done   chan struct{}
	result sallyport.ProcessResult
	err    error
}

// startPlay runs the play of a process with the bounds of a real one: the timeout
// of the options, the end of ctx, and Stop.
func (p *Runner) startPlay(ctx context.Context, s Spawned) *playedChild {
	running, cancel := context.WithCancel(ctx)
	if s.Options.Timeout > 0 {
		running, cancel = context.WithTimeout(ctx, s.Options.Timeout)
	}
	c := &playedChild{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		defer cancel()
		if p.Play != nil {
			c.result, c.err = p.Play(running, s)
		}
		c.result.Level = cmp.Or(c.result.Level, p.Level, sallyport.LevelNone)
		switch {
		case ctx.Err() != nil:
			c.err = cmp.Or(c.err, ctx.Err())
		case errors.Is(running.Err(), context.DeadlineExceeded):
			// The timeout of the options is a result and no error.
			c.result.TimedOut, c.err = true, nil
		}
	}()
	return c
}

// Done is closed when the play has returned.
func (c *playedChild) Done() <-chan struct{} { return c.done }

// Wait waits for the play.
func (c *playedChild) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return c.result, c.err
}

// Stop ends the context of the play at once and waits for it.
func (c *playedChild) Stop(time.Duration) {
	c.cancel()
	<-c.done
}
