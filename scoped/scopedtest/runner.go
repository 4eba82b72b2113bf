package scopedtest

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

func (c *playedChild) Done() <-chan struct{} { return c.done }

func (c *playedChild) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return c.result, c.err
}

// Stop ends the context of the play at once and waits for it.
func (c *playedChild) Stop(time.Duration) {
	c.cancel()
	<-c.done
}

// Spawned is one process that a tool started.
type Spawned struct {
	// Binary and Args are the command.
	Binary string
	// Args is the arguments without the binary.
	Args []string
	// Options is the rest, with the environment that reaches the child.
	Options sallyport.SpawnOptions
	// Workspace is the folder of the call.
	Workspace string
	// Splices lists the stand-ins that the environment holds.
	Splices []sallyport.Splice
}

// Runner is a process runner that starts nothing: it plays results back. It is
// safe for concurrent use when Play is.
type Runner struct {
	// Play returns the result of a process; nil means exit code 0 without
	// output. It runs beside the tool until it returns, and its context ends
	// when the child is stopped.
	Play func(context.Context, Spawned) (sallyport.ProcessResult, error)
	// Level is how children are confined; empty means not at all.
	Level sallyport.Level
	// Missing is what Confines and Start answer when it is set.
	Missing error

	record  *Record
	guarded lockedState
	spawned []Spawned
}

// Confines returns Level or Missing.
func (p *Runner) Confines(*sallyport.Grant) (sallyport.Level, error) {
	return cmp.Or(p.Level, sallyport.LevelNone), p.Missing
}

// Start records the process and plays its result.
func (p *Runner) Start(ctx context.Context, spawn *sallyport.Spawn) (sallyport.Child, error) {
	if err := cmp.Or(p.Missing, ctx.Err()); err != nil {
		return nil, err
	}
	s := Spawned{spawn.Binary, slices.Clone(spawn.Args), spawn.Options, spawn.Workspace, spawn.Splices}
	p.guarded.runLocked(func() { p.spawned = append(p.spawned, s) })
	if r := p.record; r != nil {
		r.runLocked(func() { r.spawned = append(r.spawned, s) })
	}
	return p.startPlay(ctx, s), nil
}

// Spawned returns the processes that were started, in order.
func (p *Runner) Spawned() []Spawned {
	var list []Spawned
	p.guarded.runLocked(func() { list = slices.Clone(p.spawned) })
	return list
}
