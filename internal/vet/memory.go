package vet

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// judgeUnsafe reports memory that a function may write through a pointer that was
// made of unsafe.Pointer.
func (k *walk) judgeUnsafe(f *ssa.Function) {
	k.visit(f, func(f *ssa.Function, in ssa.Instruction) {
		v, ok := in.(ssa.Value)
		if !ok || !comesOfUnsafe(v) {
			return
		}
		if mayWrite(v, map[ssa.Value]bool{}) {
			k.add(f, in.Pos(), KindUnsafe, "memory is written, or may be, through "+typeName(v.Type())+" of an unsafe.Pointer")
		}
	})
}

// comesOfUnsafe reports whether a value is typed memory of an unsafe.Pointer. A
// string is none: it cannot be written.
func comesOfUnsafe(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Convert:
		_, typed := v.Type().Underlying().(*types.Pointer)
		return typed && isUnsafePointer(v.X.Type())
	case *ssa.Call:
		b, ok := v.Call.Value.(*ssa.Builtin)
		return ok && (b.Name() == "Slice" || b.Name() == "StringData")
	}
	return false
}

func isUnsafePointer(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

// mayWrite reports whether the memory is written here, or leaves the function in a
// form in which it can be.
func mayWrite(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	for _, r := range *v.Referrers() {
		switch r := r.(type) {
		case *ssa.UnOp, *ssa.DebugRef, *ssa.BinOp, *ssa.Index, *ssa.Lookup, *ssa.Range:
		case *ssa.FieldAddr, *ssa.IndexAddr, *ssa.Slice, *ssa.Phi, *ssa.ChangeType:
			if mayWrite(r.(ssa.Value), seen) {
				return true
			}
		case *ssa.Convert:
			// Bytes that become a string are copied.
			if b, ok := r.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
				continue
			}
			if mayWrite(r, seen) {
				return true
			}
		case *ssa.Call:
			if b, ok := r.Call.Value.(*ssa.Builtin); ok && (b.Name() == "len" || b.Name() == "cap" || b.Name() == "String" ||
				b.Name() == "copy" && r.Call.Args[0] != v || b.Name() == "append" && r.Call.Args[0] != v) {
				continue
			}
			return true
		default:
			return true
		}
	}
	return false
}
