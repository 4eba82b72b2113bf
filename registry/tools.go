package registry

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/place"
	"github.com/sallyport/sallyport/schema"
)

// Registry holds tools and decides calls. It is safe for concurrent use.
type Registry struct {
	o        Options
	backends sallyport.Backends
	schemas  *schema.Cache
	cache    *resultCache
	cleaner  atomic.Pointer[knownSecrets]
	workers  *workerPool
	runs     *Runs
	facts    *conversationFacts

	roles sync.Map // personality name -> *compiledRole
	// ownPlaces is used where no other places are wired.
	ownPlaces func() *place.Map

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
}

func (r *Registry) findEntry(id string) *toolEntry {
	r.mu.RLock()
	e := r.tools[id]
	r.mu.RUnlock()
	return e
}

// listEntries returns the tools of some forms, of all when none is named,
// sorted by name.
func (r *Registry) listEntries(forms ...sallyport.Form) []*toolEntry {
	r.mu.RLock()
	var all []*toolEntry
	for _, e := range r.tools {
		if len(forms) == 0 || slices.Contains(forms, e.tool.Form) {
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
	return all
}
