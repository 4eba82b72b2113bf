package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/pending"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/overlay"
)

// commitWait bounds how long it takes to carry over what a child wrote.
const commitWait = 2 * time.Minute

// addLayer gives a child in overlay mode a private layer, and has the end of the
// child decide about it: carried over when it ended by itself with exit code 0
// and its owner did not ask to throw it away, dropped otherwise.
//
// The layer is memory that the helper mounts with a size. A folder of the host
// has no bound that an unprivileged user could set on it as it is written, and
// stays when the runtime is killed; memory is counted to the child where there
// is a memory controller, and goes with the last process that has it open.
func (r *Runner) addLayer(c *childProcess, p *reachPlan) error {
	writes := p.realPaths(true)
	if len(writes) == 0 {
		return nil
	}
	if err := r.reserveLayer(c); err != nil {
		return err
	}
	v, err := overlay.New(p.pathsAndNames(true), &overlay.Options{
		Surveyor: r.platform.survey, MaxBytes: r.o.Limits.LayerBytes, MaxEntries: max(r.o.Limits.LayerFiles, defaultLayerFiles),
		Pending: pending.Store{Dir: r.o.Pending}, Binary: c.spawn.Binary,
	})
	if err != nil {
		return err
	}
	c.atEnd(v.Discard)
	c.attach = func(fd int) error {
		root, err := r.openLayer(fd)
		if err == nil {
			err = v.Attach(root)
		}
		return err
	}
	p.layers = map[string]overlay.Mount{}
	for _, m := range v.Mounts() {
		// What is committed goes to the folder that was opened there, so that it has
		// to be the one that the child is shown.
		if !slices.ContainsFunc(p.areas, func(a reachArea) bool { return a.real == m.Lower && a.dev == m.Dev && a.ino == m.Ino }) {
			return unavailableError("a folder of the reach was exchanged while the child was started: "+m.Lower, nil)
		}
		p.layers[m.Lower] = m
	}
	c.report = append(c.report, func(res *sallyport.ProcessResult) { r.commitOrReport(c, v, res) })
	return nil
}

// reserveLayer counts a layer to the principal of the call, until the end of
// the child.
func (r *Runner) reserveLayer(c *childProcess) error {
	name := c.spawn.Principal
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.layers[name]; n >= r.o.Limits.Layers {
		return unavailableError(fmt.Sprintf("no private layer is free: %d are in use", n), nil)
	}
	r.layers[name]++
	c.atEnd(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.layers[name]--; r.layers[name] == 0 {
			delete(r.layers, name)
		}
	})
	return nil
}

// commitOrReport carries over what a child wrote, or reports it.
func (r *Runner) commitOrReport(c *childProcess, v *overlay.Overlay, res *sallyport.ProcessResult) {
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	res.LayerFull = v.UsedUp()
	var err error
	if res.ExitCode == 0 && c.cause == nil && !c.spawn.Options.Discard {
		res.Changes, err = v.Commit(ctx, r.floor)
	} else {
		res.Changes, err = v.Diff(ctx)
	}
	for i := range res.Changes {
		res.Touched.Written = append(res.Touched.Written, res.Changes[i].Path)
	}
	if err != nil {
		r.logger.Warn("sandbox: what a child wrote could not be carried over", "binary", c.spawn.Binary, "error", err)
		c.fault = &sallyport.Error{
			Code: sallyport.CodeExecutionFailed, Resource: c.spawn.Binary, Operation: "commit",
			Detail: "what " + c.spawn.Binary + " wrote could not be carried over", Err: err,
		}
	}
}

// memoryOf is what the helper mounts for the layers of a plan, nil when it has
// none.
func (r *Runner) memoryOf(p *reachPlan) *helper.Layer {
	if len(p.layers) == 0 && len(p.trays) == 0 {
		return nil
	}
	return &helper.Layer{Bytes: r.o.Limits.LayerBytes, Files: int64(r.o.Limits.LayerFiles)}
}

var errLayer = errors.New("the private layer is not the bounded memory that was asked for")

// openLayer takes the memory of the layers over from the helper, and looks
// whether it has the bounds that it is to have.
func (r *Runner) openLayer(fd int) (*os.File, error) {
	root := os.NewFile(uintptr(fd), "private layer")
	var s unix.Statfs_t
	err := unix.Fstatfs(fd, &s)
	l := &r.o.Limits
	if err == nil && (s.Type != unix.TMPFS_MAGIC || s.Blocks == 0 || s.Files == 0 ||
		int64(s.Blocks)*s.Bsize > l.LayerBytes+s.Bsize || s.Files > uint64(l.LayerFiles)) {
		err = errLayer
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}
