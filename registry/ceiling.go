package registry

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/ceiling"
)

// toolCeiling is what a role says of the arguments of one tool.
type toolCeiling struct {
	once     sync.Once
	list     []*ceiling.Ceiling
	narrowed json.RawMessage // the schema for lists
	closed   string          // the key that permits no call; empty for none
	err      error           // a ceiling cannot be read: no call runs
	text     string          // of all, for digests
}

// ceilingFor returns what the role says of the arguments of a tool.
func (ro *compiledRole) ceilingFor(e *toolEntry, r *Registry) *toolCeiling {
	v, ok := ro.ceilings.Load(e)
	if !ok {
		v, _ = ro.ceilings.LoadOrStore(e, new(toolCeiling))
	}
	tc := v.(*toolCeiling)
	tc.once.Do(func() { tc.compile(ro, e, r.hasSet) })
	return tc
}

func (tc *toolCeiling) compile(ro *compiledRole, e *toolEntry, hasSet func(string) bool) {
	tc.narrowed = e.tool.Schema
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(ro.personality.Arguments)) {
		if !listsTool([]string{key}, &e.tool) {
			continue
		}
		c, err := ceiling.Compile("arguments."+key, ro.personality.Arguments[key], e.declaredTo(key), hasSet)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if c.IsForbidden() && tc.closed == "" {
			tc.closed = c.Key
		}
		tc.list = append(tc.list, c)
		tc.text += c.Key + " " + c.Text + "\n"
	}
	if tc.err = errors.Join(faults...); tc.err != nil {
		return
	}
	tc.narrowed, tc.err = ceiling.Narrow(e.tool.Schema, tc.list)
}

// declaredTo returns the schema to which a ceiling is held that stands under a key: that
// of the tool which the key names. A key for several tools may name an argument that one
// of them lacks, so that nil says that any is declared.
func (e *toolEntry) declaredTo(key string) json.RawMessage {
	if key != e.tool.Name || e.tool.Form != sallyport.FormTool {
		return nil
	}
	return e.args.Raw()
}

// hasCeilings reports whether the role says something of arguments of tools.
func (ro *compiledRole) hasCeilings() bool {
	return ro.personality != nil && len(ro.personality.Arguments) > 0
}

// hasSet reports whether the configuration has a set of values of a name.
func (r *Registry) hasSet(name string) bool {
	if r.o.Known == nil {
		return false
	}
	_, ok := r.o.Known.Kind(name)
	return ok
}

