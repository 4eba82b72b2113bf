package registry

import (
	"encoding/json"
	"errors"
	"slices"
	"github.com/sallyport/sallyport/internal/ceiling"
)

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
