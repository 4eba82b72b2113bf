package vet

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// values is where functions store what others load.
type values struct {
	fields   map[fieldKey][]ssa.Value
	globals  map[*ssa.Global][]ssa.Value
	closures map[*ssa.Function][]*ssa.MakeClosure
}

// fieldKey is a field of a named or literal struct type.
type fieldKey struct {
	of    types.Type
	index int
}

// indexValues lists what the program stores in each field and variable, and where
// it makes closures.
func indexValues(all map[*ssa.Function]bool) values {
	v := values{map[fieldKey][]ssa.Value{}, map[*ssa.Global][]ssa.Value{}, map[*ssa.Function][]*ssa.MakeClosure{}}
	for f := range all {
		if inTable(packageOf(f)) {
			continue
		}
		for _, b := range f.Blocks {
			for _, in := range b.Instrs {
				switch in := in.(type) {
				case *ssa.MakeClosure:
					fn := in.Fn.(*ssa.Function)
					v.closures[fn] = append(v.closures[fn], in)
				case *ssa.Store:
					switch to := in.Addr.(type) {
					case *ssa.FieldAddr:
						if isCall(to.X.Type()) && isGates(packageOf(f)) {
							continue // these are the accessors
						}
						key := keyOf(to.X.Type(), to.Field)
						v.fields[key] = append(v.fields[key], in.Val)
					case *ssa.Global:
						v.globals[to] = append(v.globals[to], in.Val)
					}
				}
			}
		}
	}
	return v
}

func (v values) closuresOf(f *ssa.Function) []*ssa.MakeClosure { return v.closures[f] }
func (v values) storesIn(key fieldKey) []ssa.Value             { return v.fields[key] }
func (v values) storesTo(g *ssa.Global) []ssa.Value            { return v.globals[g] }

// keyOf names a field by the type of the struct, or of the pointer to it.
func keyOf(t types.Type, index int) fieldKey {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		t = n.Origin()
	}
	return fieldKey{t, index}
}
