package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/tray"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/overlay"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// carryEvery is how often what a child made in a tray is carried back while it
// says nothing.
const carryEvery = time.Second

// llTray makes files and nothing else: what a child could make besides is not
// carried back, and would be lost.
const llTray = helper.LandlockWriteFile | helper.LandlockTruncate | helper.LandlockMakeReg | helper.LandlockRemoveFile

// reachTray is the folder of granted files that do not exist yet, as a child
// gets it.
type reachTray struct {
	tray.Tray
	steps []helper.Op
}

// addTrays gives a child in direct mode a tray for each folder in which it may
// create granted files. What it makes there is carried back before anything that
// it says is handed over, once a second, and at its end, whatever its exit code:
// as near as can be to writing on the host.
func (r *Runner) addTrays(c *childProcess, p *reachPlan) error {
	if !r.platform.namespaces {
		return nil
	}
	plan, _ := tray.PlanTrays(&c.spawn.Grant.FS, c.level)
	plan = slices.DeleteFunc(plan, func(t tray.Tray) bool { return p.isWithheldFrom(t.Dir) })
	for i := range plan {
		plan[i].Names = slices.DeleteFunc(plan[i].Names, func(name string) bool {
			_, denied := r.floor.CheckPlace("write", filepath.Join(plan[i].Dir, name))
			return denied
		})
	}
	plan = slices.DeleteFunc(plan, func(t tray.Tray) bool { return len(t.Names) == 0 })
	if len(plan) == 0 {
		return nil
	}
	if err := r.reserveLayer(c); err != nil {
		return err
	}
	made, err := overlay.NewTrays(plan, r.floor, p.given)
	if err != nil {
		return err
	}
	c.atEnd(made.Discard)
	for i, m := range made.Mounts() {
		t := reachTray{Tray: plan[i]}
		if t.steps, err = r.traySteps(p, &m, made, t.Shown); err != nil {
			return err
		}
		p.trays = append(p.trays, t)
	}
	c.attach = func(fd int) error {
		root, err := r.openLayer(fd)
		if err == nil {
			made.Attach(root)
		}
		return err
	}
	c.carry = func() { made.Carry(context.Background()) }
	c.atEnd(carryTimes(c.carry))
	c.report = append(c.report, func(res *sallyport.ProcessResult) { reportTrays(made, res) })
	return nil
}

// isWithheldFrom reports whether a folder, or one around it, is covered or shown
// in part.
func (p *reachPlan) isWithheldFrom(dir string) bool {
	return slices.ContainsFunc(p.masks, func(m survey.Mask) bool {
		return (len(m.But) > 0 || !m.WriteOnly) && reach.Within(m.Path, dir)
	})
}

// traySteps returns the steps that show a tray and, read-only, what the child may
// see of the host in that folder. Each entry is a mount of its own: none can be
// written, removed or replaced.
func (r *Runner) traySteps(p *reachPlan, m *overlay.Mount, made *overlay.Trays, shown bool) ([]helper.Op, error) {
	dir := m.Lower
	steps := []helper.Op{{Do: helper.DoTray, Path: dir, Memory: helper.LayerDir + "/" + m.Name, Mode: uint32(m.Mode), Write: true}}
	for _, op := range r.toolchainOps() {
		if op.Do == helper.DoBind && reach.Within(dir, op.Path) {
			steps = append(steps, op) // The tray hides the one of the base.
		}
	}
	if !shown {
		return steps, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			text, err := os.Readlink(path)
			if err != nil {
				continue // It is gone again.
			}
			steps = append(steps, helper.Op{Do: helper.DoLink, Path: path, Source: text, Alias: true})
		case e.IsDir() || e.Type().IsRegular():
			op := p.rebindOp(path, 0, 0)
			op.Write, op.Optional = false, true
			steps = append(steps, op)
		default:
			continue
		}
		made.Show(dir, e.Name())
	}
	return steps, nil
}

// trayOps returns the steps of the trays in the reach that lie outside of a path
// and are not shown yet.
func (p *reachPlan) trayOps(shown *int, until string) (ops []helper.Op) {
	for ; *shown < len(p.trays) && (until == "" || len(p.trays[*shown].Dir) < len(until)); *shown++ {
		ops = append(ops, p.trays[*shown].steps...)
	}
	return ops
}

// hasTray reports whether a folder with a tray is of a kind.
func (p *reachPlan) hasTray(of func(dir string) bool) bool {
	return slices.ContainsFunc(p.trays, func(t reachTray) bool { return of(t.Dir) })
}

// carryTimes has f run every now and then, until the end is called.
func carryTimes(f func()) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(carryEvery)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				f()
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// reportTrays carries back what is left, and reports all of it.
func reportTrays(made *overlay.Trays, res *sallyport.ProcessResult) {
	ctx, cancel := context.WithTimeout(context.Background(), commitWait)
	defer cancel()
	list := made.Finish(ctx)
	for i := range list {
		if list[i].Committed {
			res.Touched.Written = append(res.Touched.Written, list[i].Path)
		}
	}
	res.Changes = append(res.Changes, list...)
	res.LayerFull = made.UsedUp()
}
