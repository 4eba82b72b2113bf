package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
)

// CeilingFaults returns what is wrong with the ceilings of a personality over the
// arguments of the registered tools, each fault once, sorted by key. A ceiling over
// several tools may name an argument that some of them lack, but not one that all lack.
// A ceiling over tools that are not registered is judged without their schemas.
func (r *Registry) CeilingFaults(personality string) ceiling.Faults {
	ro := r.roleFor(personality)
	if !ro.hasCeilings() {
		return nil
	}
	return r.faultsOf(ro.personality.Arguments, everyEntry, func(_ string, e *toolEntry) error { return ro.ceilingFor(e, r).err })
}

// TaskFaults is [Registry.CeilingFaults] for the ceilings of a task.
func (r *Registry) TaskFaults(arguments map[string]json.RawMessage) ceiling.Faults {
	return r.taskFaultsOf(arguments, everyEntry)
}

func everyEntry(*toolEntry) bool { return true }

// taskFaultsOf is TaskFaults for some tools. The schemas of others are not looked at.
func (r *Registry) taskFaultsOf(arguments map[string]json.RawMessage, of func(*toolEntry) bool) ceiling.Faults {
	return r.faultsOf(arguments, of, func(key string, e *toolEntry) error {
		c, err := ceiling.Compile("arguments."+key, arguments[key], e.declaredTo(key), r.hasSet)
		if err == nil {
			err = c.BindTo(e.args.Raw())
		}
		if err == nil {
			_, err = ceiling.Narrow(e.tool.Schema, []*ceiling.Ceiling{c})
		}
		return err
	})
}

// faultsOf returns what is wrong with ceilings over some tools. The function check says what
// is wrong with one over a tool that it covers.
func (r *Registry) faultsOf(ceilings map[string]json.RawMessage, of func(*toolEntry) bool, check func(key string, e *toolEntry) error) (faults ceiling.Faults) {
	for _, key := range slices.Sorted(maps.Keys(ceilings)) {
		covered := r.listEntries(func(e *toolEntry) bool {
			return e.tool.Form == sallyport.FormTool && listsTool([]string{key}, &e.tool) && of(e)
		})
		if len(covered) == 0 {
			_, err := ceiling.Compile("arguments."+key, ceilings[key], nil, r.hasSet)
			faults = appendFaults(faults, err)
		}
		for _, e := range covered {
			faults = appendFaults(faults, check(key, e))
		}
		faults = append(faults, r.undeclaredFaults(key, ceilings[key], covered)...)
	}
	slices.SortStableFunc(faults, func(a, b ceiling.Fault) int { return cmp.Compare(a.Key+"\n"+a.Message, b.Key+"\n"+b.Message) })
	return slices.Compact(faults)
}

// undeclaredFaults returns the arguments of a ceiling over several tools that none of
// them declares.
func (r *Registry) undeclaredFaults(key string, fragment json.RawMessage, covered []*toolEntry) (common ceiling.Faults) {
	for i, e := range covered {
		if e.tool.Name == key {
			return nil // which its own schema has judged
		}
		_, err := ceiling.Compile("arguments."+key, fragment, e.args.Raw(), nil)
		undeclared := slices.DeleteFunc(appendFaults(nil, err), func(f ceiling.Fault) bool { return !f.Undeclared })
		if i == 0 {
			common = undeclared
		}
		common = slices.DeleteFunc(common, func(f ceiling.Fault) bool {
			return !slices.ContainsFunc(undeclared, func(o ceiling.Fault) bool { return o.Key == f.Key })
		})
	}
	for i := range common {
		common[i].Message = "no tool that this covers declares such an argument"
	}
	return common
}

// appendFaults appends the faults that an error holds.
func appendFaults(faults ceiling.Faults, err error) ceiling.Faults {
	if err == nil {
		return faults
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			faults = appendFaults(faults, one)
		}
		return faults
	}
	if found, ok := errors.AsType[ceiling.Faults](err); ok {
		return append(faults, found...)
	}
	return append(faults, ceiling.Fault{Key: "arguments", Message: err.Error()})
}
