package registry

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/ceiling"
	"github.com/sallyport/sallyport/internal/conversation"
	"github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/schema"
)

// Registry holds tools and decides calls. It is safe for concurrent use.
type Registry struct {
	o             Options
	backends      sallyport.Backends
	schemas       *schema.Cache
	cache         *resultCache
	cleaner       atomic.Pointer[knownSecrets]
	workers       *workerPool
	runs          *Runs
	facts         *conversationFacts
	conversations *conversation.Memory

	roles sync.Map // personality name -> *compiledRole
	lists roleLists
	// ownPlaces is used where no other places are wired.
	ownPlaces func() *place.Map

	taskMu   sync.Mutex
	taskKept map[taskCeilingKey]*ceiling.Ceiling // those of tasks

	mu       sync.RWMutex
	tools    map[string]*toolEntry // by their ID
	reducers map[string]*sallyport.Reducer
	// ownApprovals is the queue of a registry that was given none, else nil.
	ownApprovals *approvals.Queue
}

// toolEntry is a registered tool with what was computed once.
type toolEntry struct {
	tool       sallyport.Tool
	id         string
	args       *schema.Schema
	returns    *schema.Schema   // nil when the tool has no returns schema
	reads      *resourceMatcher // of FormResource; nil otherwise
	definition string           // digest of the declaration
	missing    []string         // declared groups without a backend
	available  availability

	namesOnce sync.Once
	names     argumentNames
}

func (r *Registry) findEntry(id string) *toolEntry {
	r.mu.RLock()
	e := r.tools[id]
	r.mu.RUnlock()
	return e
}

// listEntries returns the registered tools that a filter lets through, sorted by
// name. It walks the whole table.
func (r *Registry) listEntries(include func(*toolEntry) bool) []*toolEntry {
	r.lists.walks.Add(1)
	r.mu.RLock()
	var all []*toolEntry
	for _, e := range r.tools {
		if include(e) {
			all = append(all, e)
		}
	}
	r.mu.RUnlock()
	slices.SortFunc(all, func(a, b *toolEntry) int {
		if n := strings.Compare(a.tool.Name, b.tool.Name); n != 0 {
			return n
		}
		return strings.Compare(string(a.tool.Form), string(b.tool.Form))
	})
	return slices.Clip(all)
}

// The bounds of what [roleLists] keeps: lists, and tools in all of them. A list
// of many tools costs more to hand out than to compute.
const (
	maxRoleLists = 1024
	maxListed    = 1 << 20
)

// roleLists keeps what a role shows of a form, so that a list costs what it
// shows and not what is registered. Only what stays the same as long as the
// tools and the role do is kept: surface, switches and availability are judged
// for each list.
type roleLists struct {
	walks atomic.Int64 // how often the whole table was walked, for tests

	mu     sync.Mutex
	kept   map[roleListKey]*roleList
	listed int // tools in all that is kept and computed
}

type roleListKey struct {
	role *compiledRole
	form sallyport.Form
}

// roleList is computed by the first who asks for it.
type roleList struct {
	once    sync.Once
	entries []*toolEntry
	charged int // of listed
}

// listRole returns the tools of a form that a role shows, sorted by name. The
// slice is shared: read only.
func (r *Registry) listRole(ro *compiledRole, form sallyport.Form) []*toolEntry {
	if !ro.known {
		return nil
	}
	k := roleListKey{ro, form}
	l := r.lists.findList(k)
	l.once.Do(func() {
		l.entries = r.listEntries(func(e *toolEntry) bool {
			return e.tool.Form == form && r.showsTool(ro, e)
		})
		r.lists.chargeList(k, l)
	})
	return l.entries
}

// findList returns the list of a key, which may have to be computed. What is
// found after a registration was forgotten by it: it is computed from the
// tools that are there then.
func (ls *roleLists) findList(k roleListKey) *roleList {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.kept[k]
	if l == nil {
		if ls.kept == nil || len(ls.kept) >= maxRoleLists {
			ls.kept, ls.listed = map[roleListKey]*roleList{}, 0
		}
		l = new(roleList)
		ls.kept[k] = l
	}
	return l
}

// chargeList counts a list that was computed. Beyond the bound it alone is kept.
func (ls *roleLists) chargeList(k roleListKey, l *roleList) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.kept[k] != l {
		return
	}
	l.charged = len(l.entries)
	if ls.listed += l.charged; ls.listed > maxListed {
		ls.kept, ls.listed = map[roleListKey]*roleList{k: l}, l.charged
	}
}

// forgetAll forgets every list: the tools changed.
func (ls *roleLists) forgetAll() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.kept, ls.listed = nil, 0
}

// forgetRole forgets the lists of a role that was replaced.
func (ls *roleLists) forgetRole(ro *compiledRole) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, form := range [...]sallyport.Form{sallyport.FormTool, sallyport.FormPrompt, sallyport.FormResource} {
		k := roleListKey{ro, form}
		if l := ls.kept[k]; l != nil {
			ls.listed -= l.charged
			delete(ls.kept, k)
		}
	}
}
