package sandbox

import (
	"maps"
	"slices"

	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/survey"
)

// treeOps returns the steps that show the areas and cover the floor in them. A
// path that the operator names through a link is shown where it is, and linked
// to.
func (p *reachPlan) treeOps() []helper.Op {
	var ops, links []helper.Op
	trays := 0
	for i, a := range p.areas {
		ops = append(ops, p.trayOps(&trays, a.real)...)
		if op, ok := p.areaOp(a, p.areas[:i]); ok {
			ops = append(ops, op)
		}
	}
	ops = append(ops, p.trayOps(&trays, "")...)
	for _, given := range slices.Sorted(maps.Keys(p.given)) {
		overlaps := func(path string) bool { return pathsOverlap(path, p.given[given]) }
		if !notFromHost(given) && (slices.ContainsFunc(p.areas, func(a reachArea) bool { return overlaps(a.real) }) || p.hasTray(overlaps)) {
			links = append(links, helper.Op{Do: helper.DoLink, Path: given, Source: p.given[given], Alias: true})
		}
	}
	return slices.Concat(ops, p.coverOps(), p.packageOps(), links)
}

// pathsOverlap reports whether one path holds the other.
func pathsOverlap(a, b string) bool { return reach.Within(a, b) || reach.Within(b, a) }

// areaOp returns the step that shows one area, given those before it; not ok
// when one of them does. Within a private layer nothing of the host is shown
// again: it could be written there.
func (p *reachPlan) areaOp(a reachArea, before []reachArea) (op helper.Op, ok bool) {
	op = helper.Op{Do: helper.DoBind, Path: a.real, Source: a.real, Dev: a.dev, Ino: a.ino, Write: a.write, Exec: a.exec}
	for _, o := range slices.Backward(before) {
		switch {
		case !reach.Within(o.real, a.real):
			continue
		case o.write == a.write && o.exec == a.exec:
			return op, false
		case p.inPrivateLayer(a.real):
			return helper.Op{Do: helper.DoPin, Path: a.real, Write: true, Exec: a.exec}, true
		default:
			return op, true
		}
	}
	if l, ok := p.layers[a.real]; ok {
		op.Do, op.Memory, op.Mode = helper.DoOverlay, helper.LayerDir+"/"+l.Name, uint32(l.Mode)
	}
	return op, true
}

// inPrivateLayer reports whether a path lies in a private layer.
func (p *reachPlan) inPrivateLayer(path string) bool {
	for base := range p.layers {
		if reach.Within(base, path) {
			return true
		}
	}
	return false
}

// coverOps returns the steps that mount something over what is on the floor.
func (p *reachPlan) coverOps() []helper.Op {
	masks := map[string]survey.Mask{}
	all := survey.Pins(p.masks, p.realPaths(true))
	for _, m := range p.masks {
		masks[m.Path] = m
		all = append(all, m.Path)
	}
	slices.Sort(all)
	var ops []helper.Op
	for _, path := range slices.Compact(all) {
		op := helper.Op{Do: helper.DoPin, Path: path}
		m, masked := masks[path]
		switch {
		case !p.isShown(path) || m.Missing:
			continue
		case !masked || m.Kept:
			op.Write = !m.Closed
			if m.Open {
				op = p.rebindOp(path, m.Dev, m.Ino)
			}
		case len(m.But) > 0:
			ops = append(ops, p.partialOps(&m)...)
			continue
		case !m.WriteOnly:
			op.Do = helper.DoCover
		}
		ops = append(ops, op)
	}
	return ops
}

// withheldBytes bounds the memory of a directory that is shown in part.
const withheldBytes = 1 << 20

// partialOps returns the steps that show of a directory what its mask leaves:
// an empty one in its place, and its entries in that. In overlay mode they can
// only be read: what is below is the host's.
func (p *reachPlan) partialOps(m *survey.Mask) []helper.Op {
	ops := []helper.Op{{Do: helper.DoTmpfs, Path: m.Path, Mode: 0o555, Size: withheldBytes}}
	for _, s := range m.But {
		ops = append(ops, p.rebindOp(s.Path, s.Dev, s.Ino))
	}
	return ops
}

// rebindOp returns the step that shows a path in a covered directory as its
// area does.
func (p *reachPlan) rebindOp(path string, dev, ino uint64) helper.Op {
	var a reachArea
	for _, o := range p.areas {
		if reach.Within(o.real, path) {
			a = o // The innermost comes last.
		}
	}
	return helper.Op{
		Do: helper.DoBind, Path: path, Source: path, Dev: dev, Ino: ino,
		Write: a.write && !p.inPrivateLayer(path), Exec: a.exec,
	}
}

// withheldDirs lists the directories of the reach that are shown in part.
func (p *reachPlan) withheldDirs() (list []string) {
	for i := range p.masks {
		if m := &p.masks[i]; m.Withheld() {
			list = append(list, m.Path)
		}
	}
	return list
}

// isShown reports whether a path is in the tree. What is on the floor as a whole
// is not.
func (p *reachPlan) isShown(path string) bool {
	return slices.ContainsFunc(p.areas, func(a reachArea) bool { return reach.Within(a.real, path) })
}
