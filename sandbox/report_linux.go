package sandbox

import (
	"context"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
)

// reportWait bounds how long a child's end waits for the look at what it wrote.
const reportWait = 5 * time.Second

// reportChanges has the result say what changed below the write reach while a
// child ran, and what of it is on the deny floor: a child can make a repository
// of its own, with hooks that a person may run later. In direct mode the child
// writes where a person and the gate write too, and nothing that an ordinary
// user may ask the kernel tells whose a change is. So no process is named, and
// nothing is done about what changed: it may be a person's work.
func (r *Runner) reportChanges(c *childProcess, p *reachPlan) {
	if list := p.withheldDirs(); len(list) > 0 {
		r.logger.Warn("sandbox: folders of the reach hold too much and are shown in part; remove what need not be there, or declare narrower paths", "binary", c.spawn.Binary, "folders", list)
		c.report = append(c.report, func(res *sallyport.ProcessResult) { res.Touched.Withheld = list[:min(len(list), maxSeen)] })
	}
	writes := p.realPaths(true)
	if len(writes) == 0 || len(p.layers) > 0 {
		return // in overlay mode the layer tells exactly what the child wrote
	}
	before, names := slices.Clone(p.masks), p.pathsAndNames(true)
	c.report = append(c.report, func(res *sallyport.ProcessResult) {
		ctx, cancel := context.WithTimeout(context.Background(), reportWait)
		defer cancel()
		t := &res.Touched
		var more bool
		if t.Changed, more = r.platform.survey.Changed(ctx, writes, c.start, maxSeen); more {
			t.More = true
		}
		t.Changed = slices.DeleteFunc(t.Changed, func(path string) bool { return slices.Contains(p.reserved, path) })
		if len(t.Changed) == 0 && !more {
			return
		}
		found, err := r.platform.survey.Planted(ctx, r.floor, names, before)
		if err != nil {
			r.logger.Warn("sandbox: what changed on the deny floor while a child ran is not known as a whole", "error", err)
			t.More = true
		}
		for _, m := range found {
			if len(t.ChangedOnFloor) == maxSeen {
				t.More = true
				break
			}
			t.ChangedOnFloor = append(t.ChangedOnFloor, m.Path)
		}
		if len(found) > 0 {
			r.logger.Warn("sandbox: on the deny floor, changed while a child ran, by an unknown writer; look at it or remove it",
				"binary", c.spawn.Binary, "paths", t.ChangedOnFloor)
		}
	})
}
