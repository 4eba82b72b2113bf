package vet

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// origin is where a value may have been made.
type origin struct {
	accessor bool          // it is an accessor of the call, or one of those gave it
	unknown  bool          // it could not be followed
	gates    bool          // the packages of the gate made it
	kind     Kind          // of the resource that it stands for; empty when for none
	what     string        // the function, variable or type that made it
	function *ssa.Function // what a function value calls
}

// mostTraced bounds the values that one question looks at.
const mostTraced = 2000

// origins follows a value back to where it may have been made.
func (k *walk) origins(v ssa.Value) []origin {
	if found, ok := k.traced[v]; ok {
		return found
	}
	t := &trace{k: k, seen: map[ssa.Value]bool{}}
	t.follow(v)
	k.traced[v] = t.found
	return t.found
}

// isGranted reports whether all origins are accessors of the call.
func (k *walk) isGranted(from []origin) bool {
	for _, o := range from {
		if !o.accessor {
			return false
		}
	}
	return len(from) > 0
}

// trace is one question for the origins of a value.
type trace struct {
	k     *walk
	seen  map[ssa.Value]bool
	found []origin
}

func (t *trace) add(o origin) { t.found = append(t.found, o) }

func (t *trace) follow(v ssa.Value) {
	if t.seen[v] {
		return
	}
	if t.seen[v] = true; len(t.seen) > mostTraced {
		t.add(origin{unknown: true})
		return
	}
	if isError(v.Type()) {
		t.add(origin{}) // it says what happened, and is no way to a resource
		return
	}
	switch v := v.(type) {
	case *ssa.Const:
	case *ssa.Function:
		t.add(origin{function: v})
	case *ssa.MakeClosure:
		t.add(origin{function: v.Fn.(*ssa.Function)})
	case *ssa.Alloc:
		if isCall(v.Type()) {
			t.followOwnCall(v)
			return
		}
		t.followVariable(v)
	case *ssa.Global:
		t.followGlobal(v)
	case *ssa.Call:
		t.followCall(v, 0)
	case *ssa.Extract:
		t.followTuple(v)
	case *ssa.Phi:
		for _, e := range v.Edges {
			t.follow(e)
		}
	case *ssa.ChangeType:
		t.follow(v.X)
	case *ssa.ChangeInterface:
		t.follow(v.X)
	case *ssa.MakeInterface:
		t.follow(v.X)
	case *ssa.TypeAssert:
		t.follow(v.X)
	case *ssa.Convert:
		t.follow(v.X)
	case *ssa.UnOp:
		t.followLoad(v)
	case *ssa.Field:
		t.followField(v.X, v.Field)
	case *ssa.FieldAddr:
		t.followAddress(v)
	case *ssa.Parameter:
		t.followParameter(v)
	case *ssa.FreeVar:
		t.followFreeVar(v, t.follow)
	case *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan, *ssa.BinOp:
	default:
		t.add(origin{unknown: true})
	}
}

// followMade adds a value that is made here, when it stands for a resource.
func (t *trace) followMade(made types.Type) {
	if e, what := holderOf(made); e.verdict == holderName {
		t.add(origin{kind: e.kind, what: "a " + what + " of its own"})
		return
	}
	t.add(origin{})
}

func (t *trace) followGlobal(g *ssa.Global) {
	path := g.Pkg.Pkg.Path()
	if inTable(path) {
		if e := judgeName(path, "", g.Name()); e.verdict == effectName {
			t.add(origin{kind: e.kind, what: path + "." + g.Name()})
		}
		return
	}
	t.followMade(g.Type())
	for _, v := range t.k.scope.storesTo(g) {
		t.follow(v)
	}
}

// followCall follows a result of a call.
func (t *trace) followCall(call *ssa.Call, index int) {
	c := call.Common()
	if _, ok := c.Value.(*ssa.Builtin); ok {
		for _, a := range c.Args {
			t.follow(a)
		}
		return
	}
	if c.StaticCallee() == nil && t.k.isGranted(t.k.originsIn(t, c.Value)) {
		t.add(origin{accessor: true})
		return
	}
	for _, callee := range t.k.scope.calleesOf(call) {
		pkg := packageOf(callee)
		switch {
		case inTable(pkg):
			t.followStd(callee, c)
		case isGates(pkg) && c.Signature().Recv() == nil:
			t.add(origin{gates: true, what: nameOf(callee)})
		case len(callee.Blocks) == 0:
			t.add(origin{unknown: true})
		default:
			t.followReturns(callee, index)
		}
	}
}

// followStd follows a result of the standard library: it is a resource itself, or
// made of what the call was given.
func (t *trace) followStd(callee *ssa.Function, c *ssa.CallCommon) {
	pkg, receiver, name := namesOf(callee)
	if e := judgeName(pkg, receiver, name); e.verdict == effectName && receiver == "" {
		t.add(origin{kind: e.kind, what: nameOf(callee)})
		return
	}
	for _, a := range argumentsOf(c) {
		switch a.Type().Underlying().(type) {
		case *types.Pointer, *types.Interface:
			t.follow(a)
		}
	}
	t.add(origin{})
}

// followOwnCall follows a Call that is made here: a copy of the gate's, or one that
// the tool fills.
func (t *trace) followOwnCall(made *ssa.Alloc) {
	if isGates(packageOf(made.Parent())) {
		t.add(origin{accessor: true})
		return
	}
	before := len(t.found)
	if t.followCell(made); len(t.found) == before {
		t.add(origin{gates: true, what: "a Call that it makes"})
	}
}

func (t *trace) followReturns(f *ssa.Function, index int) {
	for _, b := range f.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && index < len(r.Results) {
			t.follow(r.Results[index])
		}
	}
}

func (t *trace) followTuple(v *ssa.Extract) {
	switch from := v.Tuple.(type) {
	case *ssa.Call:
		t.followCall(from, v.Index)
	case *ssa.TypeAssert:
		t.follow(from.X)
	case *ssa.Lookup, *ssa.Next, *ssa.UnOp, *ssa.Select:
		t.add(origin{unknown: true})
	default:
		t.add(origin{unknown: true})
	}
}

// followLoad follows what an address holds.
func (t *trace) followLoad(v *ssa.UnOp) {
	switch from := v.X.(type) {
	case *ssa.FieldAddr:
		t.followField(from.X, from.Field)
	case *ssa.Global:
		t.followGlobal(from)
	case *ssa.Alloc:
		t.followCell(from)
	case *ssa.FreeVar:
		t.followFreeVar(from, func(bound ssa.Value) {
			if cell, ok := bound.(*ssa.Alloc); ok {
				t.followCell(cell)
			} else {
				t.follow(bound)
			}
		})
	case *ssa.IndexAddr:
		t.add(origin{unknown: true})
	default:
		t.follow(from) // a copy of what a pointer leads to
	}
}

// followVariable follows a variable: a resource that is copied from another is that
// other one, with what its fields are set to.
func (t *trace) followVariable(v *ssa.Alloc) {
	copied := false
	for _, r := range *v.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Addr == v {
				copied = true
				t.follow(r.Val)
			}
		case *ssa.FieldAddr:
			for _, use := range *r.Referrers() {
				if s, ok := use.(*ssa.Store); ok && s.Addr == r {
					t.follow(s.Val)
				}
			}
		}
	}
	if !copied {
		t.followMade(v.Type())
	}
}

// followCell follows what is stored in a local variable.
func (t *trace) followCell(cell *ssa.Alloc) {
	if refs := cell.Referrers(); refs != nil {
		for _, r := range *refs {
			if s, ok := r.(*ssa.Store); ok && s.Addr == cell {
				t.follow(s.Val)
			}
		}
	}
	if e, _ := holderOf(cell.Type()); e.verdict == holderName && len(t.found) == 0 {
		t.followMade(cell.Type())
	}
}

// followField follows what is stored in a field anywhere. What a Call holds is the
// gate's.
func (t *trace) followField(of ssa.Value, index int) {
	key := keyOf(of.Type(), index)
	if isCall(of.Type()) {
		t.follow(of)
	}
	if named := namedOf(key.of); named != nil && named.Obj().Pkg() != nil && inTable(named.Obj().Pkg().Path()) {
		t.add(origin{})
		return
	}
	for _, v := range t.k.scope.storesIn(key) {
		t.follow(v)
	}
}

// followAddress follows the address of a field, which is a resource when the
// struct holds it by value.
func (t *trace) followAddress(v *ssa.FieldAddr) {
	if isCall(v.X.Type()) {
		t.follow(v.X)
		return
	}
	t.followMade(v.Type())
}

// followParameter follows what the calls pass that the tool reaches.
func (t *trace) followParameter(p *ssa.Parameter) {
	f := p.Parent()
	if isCall(p.Type()) && slices.Contains(t.k.roots, f) {
		t.add(origin{accessor: true})
		return
	}
	index := -1
	for i, q := range f.Params {
		if q == p {
			index = i
		}
	}
	// A function that the tool does not reach, such as a constructor, has run before:
	// any of its calls may have made what is kept.
	_, here := t.k.parent[f]
	known := false
	for _, site := range t.k.scope.callersOf(f) {
		if _, reached := t.k.parent[site.Parent()]; here && !reached {
			continue
		}
		if args := argumentsOf(site.Common()); index < len(args) {
			known = true
			t.follow(args[index])
		}
	}
	switch {
	case known:
	case isCall(p.Type()) && !here:
		t.add(origin{accessor: true}) // of another tool, which only the gate calls
	default:
		t.add(origin{unknown: true})
	}
}

// followFreeVar follows what closures of the function were made with.
func (t *trace) followFreeVar(v *ssa.FreeVar, bound func(ssa.Value)) {
	f := v.Parent()
	for i, free := range f.FreeVars {
		if free != v {
			continue
		}
		made := t.k.scope.closuresOf(f)
		for _, m := range made {
			bound(m.Bindings[i])
		}
		if len(made) == 0 {
			t.add(origin{unknown: true})
		}
	}
}

// originsIn asks for the origins of another value within the same question, so that
// a value that depends on itself ends.
func (k *walk) originsIn(t *trace, v ssa.Value) []origin {
	if t.seen[v] {
		return nil
	}
	inner := &trace{k: k, seen: t.seen}
	inner.follow(v)
	return inner.found
}
