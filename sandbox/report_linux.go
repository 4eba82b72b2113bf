package sandbox

import (
	"context"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// reportWait bounds how long a child's end waits for the look at what it wrote.
const reportWait = 5 * time.Second

// reportWrites has the result say what a child wrote below its reach, and
// what of it is on the deny floor: a child can make a repository of its own,
// with hooks that somebody may run later.
func (r *Runner) reportWrites(c *child, p *plan) {
	writes := p.reals(true)
	if len(writes) == 0 || len(p.layers) > 0 {
		return // in overlay mode the layer tells it exactly
	}
	before, names := slices.Clone(p.masks), p.names(true)
	c.report = append(c.report, func(res *sallyport.ProcessResult) {
		ctx, cancel := context.WithTimeout(context.Background(), reportWait)
		defer cancel()
		t := &res.Touched
		var more bool
		if t.Written, more = r.platform.survey.Changed(ctx, writes, c.start, maxSeen); more {
			t.More = true
		}
		if len(t.Written) == 0 && !more {
			return
		}
		planted, err := r.platform.survey.Planted(ctx, r.floor, names, before)
		if err != nil {
			r.logger.Warn("sandbox: what a child left on the deny floor is not known as a whole", "error", err)
			t.More = true
		}
		moved, err := survey.Quarantine(planted, before)
		if err != nil {
			r.logger.Error("sandbox: what a child left in a repository is in force", "error", err)
		}
		if len(moved) > 0 {
			r.logger.Warn("sandbox: what a child left in a repository got another name", "paths", moved)
		}
		for _, m := range planted {
			if len(t.Planted) == maxSeen {
				t.More = true
				break
			}
			t.Planted = append(t.Planted, m.Path)
		}
	})
}
