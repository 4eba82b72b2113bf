package vet

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// scope answers what a walk asks of the code around a function.
type scope interface {
	// calleesOf returns the functions that a call may reach.
	calleesOf(site ssa.CallInstruction) []*ssa.Function
	// callersOf returns the calls of a function.
	callersOf(f *ssa.Function) []ssa.CallInstruction
	// closuresOf returns where closures of a function are made.
	closuresOf(f *ssa.Function) []*ssa.MakeClosure
	// storesIn and storesTo return what is stored in a field and a variable.
	storesIn(key fieldKey) []ssa.Value
	storesTo(g *ssa.Global) []ssa.Value
	// judgeBodiless says what a function without a body is.
	judgeBodiless(f *ssa.Function) []Finding
	// isLinked reports whether a linkname makes the variable another one.
	isLinked(g *ssa.Global) bool
	// isAccessor reports whether the type is that of an accessor.
	isAccessor(t types.Type) bool
	// positionOf prints a position.
	positionOf(at token.Pos) string
}

// walk follows one tool.
type walk struct {
	scope  scope
	roots  []*ssa.Function
	order  []*ssa.Function
	parent map[*ssa.Function]*ssa.Function // nil for a root
	report ToolReport
	said   map[string]bool
	traced map[ssa.Value][]origin
}

// followTool lists every function that the roots may call, and then judges each.
func followTool(s scope, report ToolReport, roots ...*ssa.Function) ToolReport {
	k := &walk{scope: s, roots: roots, parent: map[*ssa.Function]*ssa.Function{}, report: report, said: map[string]bool{}, traced: map[ssa.Value][]origin{}}
	k.report.Findings, k.report.NotShown = []Finding{}, []Finding{}
	for _, f := range roots {
		k.reach(f, nil)
	}
	for i := 0; i < len(k.order); i++ {
		k.visit(k.order[i], k.reachFrom)
	}
	clear(k.traced) // what a parameter holds is asked of the calls that are reached
	for _, f := range k.order {
		if name, ok := cutCgo(f.Name()); ok {
			k.add(f, f.Pos(), KindCgo, "C."+name)
			continue
		}
		if len(f.Blocks) == 0 {
			for _, b := range s.judgeBodiless(f) {
				k.add(f, f.Pos(), b.Kind, b.What)
			}
		}
		k.visit(f, k.judge)
		k.judgeUnsafe(f)
	}
	return k.report
}

// reach adds a function that from may call.
func (k *walk) reach(f, from *ssa.Function) {
	if _, ok := k.parent[f]; ok || inTable(packageOf(f)) || from != nil && (isPackageInit(f) || isGates(packageOf(f))) {
		return
	}
	k.parent[f] = from
	k.order = append(k.order, f)
}

// visit calls what for each instruction.
func (k *walk) visit(f *ssa.Function, what func(f *ssa.Function, in ssa.Instruction)) {
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			what(f, in)
		}
	}
}

// reachFrom adds what an instruction may call, now or when what it makes is used.
func (k *walk) reachFrom(f *ssa.Function, in ssa.Instruction) {
	if site, ok := in.(ssa.CallInstruction); ok {
		for _, callee := range k.callees(site) {
			switch {
			case inTable(packageOf(callee)):
				k.reachFunctionsIn(f, site)
			case site.Common().IsInvoke() && k.scope.isAccessor(site.Common().Value.Type()):
				k.reachOwn(callee, f)
			default:
				k.reach(callee, f)
			}
		}
	}
	for _, op := range in.Operands(nil) {
		if fn, ok := (*op).(*ssa.Function); ok {
			k.reach(fn, f)
		}
	}
	if made, ok := in.(*ssa.MakeInterface); ok {
		k.reachMethods(f, made)
	}
}

// reachOwn adds a method of an accessor, unless it is one of the gate's, whose work
// is the gate's.
func (k *walk) reachOwn(f, from *ssa.Function) {
	if pkg := packageOf(f); !isGates(pkg) && !strings.HasPrefix(pkg, rootPath+"/egress") {
		k.reach(f, from)
	}
}

// callees returns what a call may reach; an accessor's method is the gate's.
func (k *walk) callees(site ssa.CallInstruction) []*ssa.Function {
	if c := site.Common(); c.StaticCallee() == nil && k.isGranted(k.origins(c.Value)) {
		return nil
	}
	return k.scope.calleesOf(site)
}

// reachFunctionsIn adds the functions among the arguments of a call into the
// standard library, which may call them.
func (k *walk) reachFunctionsIn(f *ssa.Function, site ssa.CallInstruction) {
	for _, arg := range argumentsOf(site.Common()) {
		if _, ok := arg.Type().Underlying().(*types.Signature); !ok {
			continue
		}
		for _, o := range k.origins(arg) {
			if o.function != nil {
				k.reach(o.function, f)
			}
		}
	}
}

// calledByStd names the methods that the standard library looks for in a value
// whose interface does not list them.
var calledByStd = strings.Fields(`Error Unwrap Is As Timeout Temporary String GoString Format Scan MarshalJSON UnmarshalJSON
	MarshalText UnmarshalText AppendText MarshalBinary UnmarshalBinary AppendBinary GobEncode GobDecode MarshalXML UnmarshalXML
	IsZero LogValue Value Read Write Close Seek ReadAt WriteAt ReadFrom WriteTo ReadByte WriteByte UnreadByte ReadRune WriteString
	Flush Len Less Swap Stat ReadDir ReadFile Open`)

// reachMethods adds the methods of a value that is made an interface of which the
// standard library may call methods.
func (k *walk) reachMethods(f *ssa.Function, made *ssa.MakeInterface) {
	t := made.X.Type()
	if named := namedOf(t); named == nil || named.Obj().Pkg() == nil || inTable(named.Obj().Pkg().Path()) {
		return
	}
	names := calledByStd
	if iface := namedOf(made.Type()); iface != nil && iface.Obj().Pkg() != nil {
		if !inTable(iface.Obj().Pkg().Path()) {
			return // calls of its methods are seen
		}
		names = nil
		methods := iface.Underlying().(*types.Interface)
		for i := range methods.NumMethods() {
			names = append(names, methods.Method(i).Name())
		}
	}
	set := f.Prog.MethodSets.MethodSet(t)
	for _, name := range names {
		if sel := set.Lookup(nil, name); sel != nil {
			if m := f.Prog.MethodValue(sel); m != nil {
				k.reach(m, f)
			}
		}
	}
}

// judge reports what an instruction does beside the accessors.
func (k *walk) judge(f *ssa.Function, in ssa.Instruction) {
	site, isCall := in.(ssa.CallInstruction)
	if isCall {
		k.judgeCall(f, site)
	}
	for _, op := range in.Operands(nil) {
		switch v := (*op).(type) {
		case *ssa.Global:
			k.judgeGlobal(f, in, v)
		case *ssa.Function:
			if called := isCall && site.Common().StaticCallee() == v; !called && inTable(packageOf(v)) {
				k.judgeName(f, in.Pos(), v)
			}
		}
	}
}

// judgeGlobal reports the use of a variable that is an effect.
func (k *walk) judgeGlobal(f *ssa.Function, in ssa.Instruction, g *ssa.Global) {
	if k.scope.isLinked(g) {
		k.add(f, in.Pos(), KindLink, g.String())
		return
	}
	if e := judgeName(g.Pkg.Pkg.Path(), "", g.Name()); e.verdict == effectName {
		k.add(f, in.Pos(), e.kind, g.Pkg.Pkg.Path()+"."+g.Name())
	}
}

// judgeCall reports a call of an effect, and one that uses a resource which is not
// an accessor's.
func (k *walk) judgeCall(f *ssa.Function, site ssa.CallInstruction) {
	c := site.Common()
	if static := c.StaticCallee(); static != nil {
		if _, _, name := namesOf(static); isGates(packageOf(static)) && token.IsExported(name) {
			k.add(f, site.Pos(), KindAccessor, nameOf(static)+" of the gate is called")
		}
		if inTable(packageOf(static)) && k.judgeName(f, site.Pos(), static) == pureName {
			k.judgeArguments(f, site, nameOf(static))
		}
		return
	}
	if _, ok := c.Value.(*ssa.Builtin); ok {
		return
	}
	from := k.origins(c.Value)
	if k.isGranted(from) {
		return
	}
	if c.IsInvoke() && k.scope.isAccessor(c.Value.Type()) {
		k.judgeOwnAccessor(f, site, from)
		return
	}
	for _, callee := range k.scope.calleesOf(site) {
		switch {
		case !inTable(packageOf(callee)):
		case c.IsInvoke():
			k.judgeArguments(f, site, c.Method.FullName())
		case k.judgeName(f, site.Pos(), callee) == pureName:
			k.judgeArguments(f, site, nameOf(callee))
		}
	}
}

// judgeOwnAccessor reports an accessor that is not one of the call.
func (k *walk) judgeOwnAccessor(f *ssa.Function, site ssa.CallInstruction, from []origin) {
	c := site.Common()
	for _, o := range from {
		switch {
		case o.accessor, o.function != nil:
		case o.unknown:
			k.add(f, site.Pos(), "", fmt.Sprintf("where the %s comes from whose %s is called", typeName(c.Value.Type()), c.Method.Name()))
		case o.gates:
			k.add(f, site.Pos(), KindAccessor, fmt.Sprintf("%s of one that is not the call's: of %s", c.Method.Name(), o.what))
		}
	}
}

// judgeName reports a function of the standard library by its name.
func (k *walk) judgeName(f *ssa.Function, at token.Pos, callee *ssa.Function) verdict {
	pkg, receiver, name := namesOf(callee)
	if name == "" || !token.IsExported(name) || receiver != "" && !token.IsExported(receiver) {
		return pureName
	}
	e := judgeName(pkg, receiver, name)
	switch e.verdict {
	case effectName:
		k.add(f, at, e.kind, nameOf(callee))
	case callsName:
		k.add(f, at, "", nameOf(callee)+" calls what only the run knows")
	case unknownName:
		k.add(f, at, "", nameOf(callee)+" is not in the table of the standard library")
	case holderName:
		return pureName // of a resource that the call was given it may be used
	}
	return e.verdict
}

// judgeArguments reports resources among the arguments of a call into the standard
// library, which uses them.
func (k *walk) judgeArguments(f *ssa.Function, site ssa.CallInstruction, callee string) {
	for _, arg := range argumentsOf(site.Common()) {
		switch arg.Type().Underlying().(type) {
		case *types.Pointer, *types.Interface, *types.Struct:
			k.judgeOrigins(f, site.Pos(), arg, callee)
		}
	}
}

// judgeOrigins reports a resource that a value stands for.
func (k *walk) judgeOrigins(f *ssa.Function, at token.Pos, v ssa.Value, user string) {
	for _, o := range k.origins(v) {
		switch {
		case o.kind != "":
			k.add(f, at, o.kind, fmt.Sprintf("%s uses %s", user, o.what))
		case o.unknown:
			if e, what := holderOf(v.Type()); e.verdict == holderName {
				k.add(f, at, "", fmt.Sprintf("where the %s comes from that %s uses", what, user))
			}
		}
	}
}

// add reports something once.
func (k *walk) add(f *ssa.Function, at token.Pos, kind Kind, what string) {
	if !at.IsValid() {
		at = f.Pos()
	}
	found := Finding{Kind: kind, What: what, At: k.scope.positionOf(at)}
	key := string(kind) + "\x00" + what + "\x00" + found.At
	if k.said[key] {
		return
	}
	k.said[key] = true
	for from := f; from != nil; from = k.parent[from] {
		found.Chain = append([]string{from.RelString(nil)}, found.Chain...)
	}
	if kind == "" {
		k.report.NotShown = append(k.report.NotShown, found)
	} else {
		k.report.Findings = append(k.report.Findings, found)
	}
}
