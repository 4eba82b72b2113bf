package sandbox

import (
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/denyfloor"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// addProgram adds a file that runs beside the reach. What the child might write
// is none, unless execFrom lets it run from there, and what the floor denies or
// does not exist would only be missed.
func (p *reachPlan) addProgram(path string, floor *denyfloor.Floor) error {
	if floor.Package(path) {
		return p.addPackage(path)
	}
	before := len(p.areas)
	if err := p.addPath(path, reachArea{read: true, exec: true}); err != nil {
		return err
	}
	if len(p.areas) != before+1 || p.areas[before].dir {
		return sallyport.BinaryError(path, "is not a file that can be shown to a child")
	}
	real := p.areas[before].real
	within := func(a reachArea) bool { return a.write && reach.Within(a.real, real) }
	runs := func(a reachArea) bool { return a.exec && within(a) }
	if slices.ContainsFunc(p.areas, within) && !slices.ContainsFunc(p.areas, runs) {
		return sallyport.BinaryError(path, whyWritable)
	}
	if _, denied := floor.Check("read", real); denied {
		return sallyport.BinaryError(path, "hits the always-deny floor")
	}
	return nil
}

// addPackage adds a package that runs beside the reach. Within the reach it is
// covered with all that the runtime keeps there, so that what may be written
// around it leaves it alone.
func (p *reachPlan) addPackage(path string) error {
	var found reachPlan
	if err := found.addPath(path, reachArea{read: true, exec: true}); err != nil {
		return err
	}
	if len(found.areas) != 1 || !found.areas[0].dir {
		return sallyport.BinaryError(path, "is not an installed package")
	}
	p.packages = append(p.packages, found.areas[0])
	return nil
}

// packageOps returns the steps that show the installed packages. One that lies
// behind a cover is shown in a folder of memory in the place of the cover,
// which holds nothing else.
func (p *reachPlan) packageOps() []helper.Op {
	var ops, shut []helper.Op
	var opened []string
	for _, a := range p.packages {
		for _, m := range p.masks {
			if m.WriteOnly || !m.Dir || !reach.Within(m.Path, a.real) || slices.Contains(opened, m.Path) || !p.isShown(m.Path) {
				continue
			}
			opened = append(opened, m.Path)
			ops = append(ops, helper.Op{Do: helper.DoTmpfs, Path: m.Path, Mode: 0o755, Size: 1 << 20})
			shut = append(shut, helper.Op{Do: helper.DoPin, Path: m.Path})
		}
		ops = append(ops, helper.Op{Do: helper.DoBind, Path: a.real, Source: a.real, Dev: a.dev, Ino: a.ino, Exec: true})
	}
	return append(ops, shut...)
}
