package sandbox

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/overlay"
)

// commitWait bounds how long it takes to carry over what a child wrote.
const commitWait = 2 * time.Minute

// layer gives a child in overlay mode a private layer, and has the end of the
// child decide about it: carried over when it ended by itself with exit code 0
// and nobody asked to throw it away, removed otherwise.
func (r *Runner) layer(c *child, p *plan) error {
	writes := p.reals(true)
	if len(writes) == 0 {
		return nil
	}
	v, err := overlay.New(r.o.Scratch, p.names(true), &overlay.Options{Surveyor: r.platform.survey})
	if err != nil {
		return err
	}
	c.atEnd(func() {
		if err := v.Discard(); err != nil {
			r.logger.Warn("sandbox: a private layer is left behind", "error", err)
		}
	})
	p.layers = map[string]layer{}
	for _, m := range v.Mounts() {
		p.layers[m.Target] = layer{m.Upper, m.Work}
	}
	c.report = append(c.report, func(res *sallyport.ProcessResult) {
		ctx, cancel := context.WithTimeout(context.Background(), commitWait)
		defer cancel()
		var err error
		if res.ExitCode == 0 && c.cause == nil && !c.spawn.Options.Discard {
			res.Changes, err = v.Commit(ctx, r.floor)
		} else {
			res.Changes, err = v.Diff(ctx)
		}
		if err != nil {
			c.fault = &sallyport.Error{
				Code: sallyport.CodeExecutionFailed, Resource: c.spawn.Binary, Operation: "commit",
				Detail: "what " + c.spawn.Binary + " wrote could not be carried over", Err: err,
			}
		}
	})
	return nil
}
