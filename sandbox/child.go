package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

// childProcess is a started process with all its descendants.
type childProcess struct {
	r     *Runner
	spawn *sallyport.Spawn
	level sallyport.Level
	probe bool // it attacks its own confinement
	start time.Time
	proc  *os.Process
	// program is the pidfd of the program below its init, nil where the first
	// process is the program.
	program *os.File
	// group is the control group of all its processes, nil without one.
	group *controlGroup
	// exchanged is that of the plan; nil where the child sees the host's own tree.
	exchanged func() string
	// watches counts those of a child that shares the user of this process.
	watches *watchQuota

	// attach takes the memory of its private layer over; nil without one.
	attach func(fd int) error
	// carry carries back what it made in trays until now; nil without one.
	carry func()

	out, err outputCapture
	stdin    io.Closer
	// proxy is its way to hosts; nil when it has none.
	proxy *egress.Proxy

	// ends are run in reverse order when the tree is gone; report fills in
	// what was touched before that.
	ends   []func()
	report []func(*sallyport.ProcessResult)

	mu     sync.Mutex // keeps killTree from a number that reap has given back
	reaped bool

	once   sync.Once // the first who ends the child says why
	cause  error     // set within once, read after done
	done   chan struct{}
	result sallyport.ProcessResult
	fault  error
}

// Exchanged is [sallyport.Placed].
func (c *childProcess) Exchanged() string {
	if c.exchanged == nil {
		return ""
	}
	return c.exchanged()
}

// Start starts a child: what the name stands for, what the grant becomes, a
// helper, and the hand-over after which the child runs.
func (r *Runner) Start(ctx context.Context, s *sallyport.Spawn) (sallyport.Child, error) {
	level, err := r.Confines(s.Grant)
	if err != nil {
		return nil, err
	}
	c := &childProcess{r: r, spawn: s, level: level, done: make(chan struct{})}
	if err := r.startAndFollow(ctx, c); err != nil {
		return nil, err
	}
	return c, nil
}

// startAndFollow launches a child and follows it to its end.
func (r *Runner) startAndFollow(ctx context.Context, c *childProcess) error {
	if !r.registerStart() {
		return unavailableError("the runtime is ending", nil)
	}
	defer r.starts.Done()
	if err := r.launchChild(ctx, c); err != nil {
		c.releaseResources()
		return err
	}
	r.mu.Lock()
	r.children[c] = struct{}{}
	r.mu.Unlock()
	go c.awaitEnd(ctx)
	return nil
}

// atEnd has f run when the tree is gone.
func (c *childProcess) atEnd(f func()) { c.ends = append(c.ends, f) }

// releaseResources frees what belongs to the child.
func (c *childProcess) releaseResources() {
	for _, f := range slices.Backward(c.ends) {
		f()
	}
	c.ends = nil
}

// openPipes makes the pipes of a child and returns its ends: standard input,
// output and error, and the two that it is talked to over when these are apart.
func (c *childProcess) openPipes() (ends []*os.File, err error) {
	o := &c.spawn.Options
	limit := cmp.Or(o.MaxOutput, defaultOutput)
	c.out = outputCapture{max: limit, sink: o.Output, before: c.carry, done: make(chan struct{})}
	c.err = outputCapture{max: limit, sink: o.ErrorOutput, done: make(chan struct{})}
	stdin, err := c.openInput(o)
	if err != nil {
		return nil, err
	}
	r, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	c.out.file = r
	go c.out.readAll()
	if o.Output != nil && o.ErrorOutput == nil {
		// One pipe for both keeps their order.
		c.err.end()
		return []*os.File{stdin, stdout, stdout}, nil
	}
	r, stderr, err := os.Pipe()
	if err != nil {
		c.err.end()
		closeAll([]*os.File{stdin, stdout})
		return nil, err
	}
	c.err.file = r
	go c.err.readAll()
	if !o.Apart {
		return []*os.File{stdin, stdout, stderr}, nil
	}
	nothing, w, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{stdin, stdout, stderr})
		return nil, err
	}
	w.Close()
	return []*os.File{nothing, stderr, stderr, stdin, stdout}, nil
}

// closeAll closes files; one that is closed already does not matter.
func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// openInput opens what the child reads: a pipe that is being filled, or one at
// its end. A device of the host would come with its mode and owner, which a
// child of root could change.
func (c *childProcess) openInput(o *sallyport.SpawnOptions) (*os.File, error) {
	if o.Channel != nil {
		return c.openChannel(o)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	source := io.Reader(bytes.NewReader(o.Stdin))
	switch {
	case o.Input != nil:
		source = o.Input
		c.atEnd(func() { o.Input.Close() })
	case o.Stdin == nil:
		w.Close()
		return r, nil
	}
	c.stdin = w
	go func() {
		// A child that does not read its input is not an error.
		_, _ = io.Copy(w, source)
		w.Close()
	}()
	return r, nil
}

// awaitEnd waits for the end of the child, or brings it about.
func (c *childProcess) awaitEnd(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() { c.endNow(context.Cause(ctx)) })
	defer stop()
	if t := c.spawn.Options.Timeout; t > 0 {
		timer := time.AfterFunc(t-time.Since(c.start), func() { c.requestEnd(errTimeout, stopGrace) })
		defer timer.Stop()
	}
	state, err := c.reap()
	// A later call finds the child ended.
	c.once.Do(func() {})
	if c.stdin != nil {
		c.stdin.Close()
	}
	if c.level == sallyport.LevelNone {
		// Nothing but the kernel's confinement ends all who hold the pipes.
		timer := time.AfterFunc(pipeGrace, func() { c.out.cutOff(); c.err.cutOff() })
		defer timer.Stop()
	}
	<-c.out.done
	<-c.err.done
	c.finalizeResult(state, err)
}

// pipeGrace is how long the output of a child that is not confined is read
// when it has ended: what it has left running in another session may hold the
// pipes for ever (os/exec: Cmd.WaitDelay).
const pipeGrace = 200 * time.Millisecond

// errTimeout ends a child whose own timeout has passed, which is no error of
// the caller's.
var errTimeout = errors.New("timeout")

// finalizeResult fills in the result and frees what belongs to the child.
func (c *childProcess) finalizeResult(state *os.ProcessState, err error) {
	res := sallyport.ProcessResult{
		Level: c.level, Stdout: c.out.kept, Stderr: c.err.kept, Dropped: c.out.dropped + c.err.dropped,
		TimedOut: errors.Is(c.cause, errTimeout),
	}
	if state != nil {
		res.ExitCode = exitCode(state)
	}
	if err == nil && c.cause != nil && !res.TimedOut && !errors.Is(c.cause, errStopped) {
		err = fmt.Errorf("%s was ended: %w", c.spawn.Binary, c.cause)
	}
	c.fault = err
	for _, f := range c.report {
		f(&res)
	}
	c.result = res
	c.releaseResources()
	c.r.mu.Lock()
	delete(c.r.children, c)
	c.r.mu.Unlock()
	close(c.done)
}

// exitCode is the exit status, 128 plus the signal for a killed process.
func exitCode(state *os.ProcessState) int {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return state.ExitCode()
}

// Level is the confinement of the child.
func (c *childProcess) Level() sallyport.Level { return c.level }

// Done is closed when the whole tree is gone and its output was handed over.
func (c *childProcess) Done() <-chan struct{} { return c.done }

// Wait waits for the end.
func (c *childProcess) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return c.result, c.fault
}

// errStopped ends a child because its caller asked for it, which is no error
// of the child's.
var errStopped = errors.New("it was stopped")

// Stop asks the tree to end, kills it after grace, and waits.
func (c *childProcess) Stop(grace time.Duration) {
	c.requestEnd(errStopped, grace)
	<-c.done
}

// Narrow takes hosts from the child. Where nothing confines it, nothing can.
func (c *childProcess) Narrow(g sallyport.NetworkGrant) bool {
	if c.proxy == nil {
		return c.level != sallyport.LevelNone
	}
	_, err := c.proxy.Narrow(g)
	return err == nil
}

// RefusedHosts returns the hosts that the child was refused since its start, in the order
// of their first refusal; none for a child without a way to hosts. Records of calls that
// use the child while it runs say so.
func (c *childProcess) RefusedHosts() []sallyport.HostUse {
	if c.proxy == nil {
		return nil
	}
	return c.proxy.Refused()
}

// requestEnd signals the program and kills the tree when it does not end. One
// that does not handle the signal could not tidy up: it is killed at once.
func (c *childProcess) requestEnd(cause error, grace time.Duration) {
	c.once.Do(func() { c.cause = cause })
	if grace <= 0 || !c.sendSIGTERM() {
		c.killTree()
		return
	}
	timer := time.AfterFunc(grace, c.killTree)
	go func() {
		<-c.done
		timer.Stop()
	}()
}

// endNow ends the tree at once.
func (c *childProcess) endNow(cause error) {
	c.once.Do(func() { c.cause = cause })
	c.killTree()
}
