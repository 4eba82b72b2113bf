package vet

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// foundTool is a tool and the function that runs it, nil when only the run knows.
type foundTool struct {
	name string
	at   token.Pos
	run  *ssa.Function
}

// findTools lists the tools that a function makes: it gives a Run function to a
// Tool, or a function to package schema, which makes the Run function of it.
func findTools(f *ssa.Function) []foundTool {
	var found []foundTool
	for _, b := range f.Blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.Store:
				to, ok := in.Addr.(*ssa.FieldAddr)
				if !ok || !isNamed(to.X.Type(), "Tool") || fieldName(to) != "Run" || isNil(in.Val) {
					continue
				}
				found = append(found, foundTool{nameStored(to.X), in.Pos(), functionOf(in.Val)})
			case ssa.CallInstruction:
				c := in.Common()
				callee := c.StaticCallee()
				if callee == nil || packageOf(callee) != rootPath+"/schema" {
					continue
				}
				for _, a := range c.Args {
					if _, ok := a.Type().Underlying().(*types.Signature); ok {
						found = append(found, foundTool{nameStored(c.Args[0]), in.Pos(), functionOf(a)})
					}
				}
			}
		}
	}
	return found
}

// functionOf returns the function that a value is, nil when it is another's result.
func functionOf(v ssa.Value) *ssa.Function {
	switch v := v.(type) {
	case *ssa.Function:
		return v
	case *ssa.MakeClosure:
		return v.Fn.(*ssa.Function)
	case *ssa.ChangeType:
		return functionOf(v.X)
	case *ssa.Call:
		return functionReturned(v)
	}
	return nil
}

// functionReturned returns the one function that a call returns, nil when there are
// several or none.
func functionReturned(call *ssa.Call) (found *ssa.Function) {
	callee := call.Call.StaticCallee()
	if callee == nil || packageOf(callee) == rootPath+"/schema" {
		return nil
	}
	for _, b := range callee.Blocks {
		r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || len(r.Results) == 0 {
			continue
		}
		f := functionOf(r.Results[0])
		if f == nil || found != nil && found != f {
			return nil
		}
		found = f
	}
	return found
}

func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// fieldName returns the name of the field of a struct.
func fieldName(f *ssa.FieldAddr) string {
	p, ok := f.X.Type().Underlying().(*types.Pointer)
	if !ok {
		return ""
	}
	s, ok := p.Elem().Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	return s.Field(f.Field).Name()
}

// nameStored returns the constant name that is stored in the Tool, "" without one.
func nameStored(tool ssa.Value) string {
	if load, ok := tool.(*ssa.UnOp); ok {
		tool = load.X
	}
	refs := tool.Referrers()
	if refs == nil {
		return ""
	}
	for _, r := range *refs {
		field, ok := r.(*ssa.FieldAddr)
		if !ok || !isNamed(field.X.Type(), "Tool") || fieldName(field) != "Name" {
			continue
		}
		for _, use := range *field.Referrers() {
			if s, ok := use.(*ssa.Store); ok {
				if c, ok := s.Val.(*ssa.Const); ok && c.Value != nil && c.Value.Kind() == constant.String {
					return constant.StringVal(c.Value)
				}
			}
		}
	}
	return ""
}
