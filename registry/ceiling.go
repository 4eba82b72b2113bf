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

