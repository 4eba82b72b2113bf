package vet

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// packageOf returns the path of the package whose code a function is, also of
// wrappers and instances.
func packageOf(f *ssa.Function) string {
	for f != nil {
		switch o := f.Object(); {
		case o != nil && o.Pkg() != nil:
			return o.Pkg().Path()
		case f.Pkg != nil:
			return f.Pkg.Pkg.Path()
		case f.Origin() != nil && f.Origin() != f:
			f = f.Origin()
		default:
			f = f.Parent()
		}
	}
	return ""
}

// namesOf returns package, type of the receiver and name; no name for a closure.
func namesOf(f *ssa.Function) (pkg, receiver, name string) {
	o, ok := f.Object().(*types.Func)
	if !ok && f.Origin() != nil {
		o, ok = f.Origin().Object().(*types.Func)
	}
	if !ok {
		return packageOf(f), "", ""
	}
	if recv := o.Signature().Recv(); recv != nil {
		if named := namedOf(recv.Type()); named != nil {
			receiver = named.Obj().Name()
		}
	}
	return packageOf(f), receiver, o.Name()
}

// nameOf names a function for people.
func nameOf(f *ssa.Function) string {
	if o, ok := f.Object().(*types.Func); ok {
		return o.FullName()
	}
	return f.RelString(nil)
}

// namedOf returns the named type behind a type or a pointer, nil without one.
func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, _ := t.(*types.Named)
	return named
}

// typeName names a type for people.
func typeName(t types.Type) string { return types.TypeString(t, nil) }

// isNamed reports whether a type, or what it points to, is one of the root package.
func isNamed(t types.Type, name string) bool {
	named := namedOf(t)
	return named != nil && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == rootPath && named.Obj().Name() == name
}

func isCall(t types.Type) bool { return isNamed(t, "Call") }

func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// isGates reports whether a package makes accessors for the gate.
func isGates(path string) bool {
	for _, of := range []string{"scoped", "registry", "sandbox"} {
		if rest, ok := strings.CutPrefix(path, rootPath+"/"+of); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// isPackageInit reports whether the function initializes a package.
func isPackageInit(f *ssa.Function) bool { return f.Synthetic == "package initializer" }

// argumentsOf returns receiver and arguments of a call.
func argumentsOf(c *ssa.CallCommon) []ssa.Value {
	if c.IsInvoke() {
		return append([]ssa.Value{c.Value}, c.Args...)
	}
	if made, ok := c.Value.(*ssa.MakeClosure); ok {
		return append(append([]ssa.Value{}, c.Args...), made.Bindings...)
	}
	return c.Args
}

// cutCgo returns the name in C of a function that the cgo command wrote: with one
// result, or with errno as the second.
func cutCgo(name string) (string, bool) {
	if c, ok := strings.CutPrefix(name, "_Cfunc_"); ok {
		return c, true
	}
	return strings.CutPrefix(name, "_C2func_")
}
