// Package registry is the gate: it holds the tools, decides each call in one
// place and hands the tool the accessors of its grant.
//
// Start with [New], [Registry.Register] and [Registry.Call]. The steps of a
// call are methods of one type, a file each, in the order of [Registry.Call].
// Listing, explaining and every surface ask the same functions.
//
// It promises that a tool runs only after every step allowed it, that a
// denial is recorded like a success, and that what comes back is validated,
// cleaned and bounded. It does not confine Go code that goes around its
// accessors.
//
// The register of promises is docs/guarantees.md: G-DECIDE, G-AUDIT, G-OUT.
package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/schema"
)

// Defaults of [Options].
const (
	// defaultBudget is the number of code points that the values of one
	// batch have together.
	defaultBudget = output.DefaultBudget
	// defaultTimeout bounds a call of a tool that sets none. Two minutes is
	// longer than the network accessor's own bound, so that the tool sees
	// its error first.
	defaultTimeout = 2 * time.Minute
	// defaultParallel bounds the calls of a batch that run at once.
	defaultParallel = 8
	// defaultStructuredBytes bounds Structured as JSON.
	defaultStructuredBytes = 256 << 10
	// defaultPartBytes bounds the data of all parts of a result: a few
	// photographs, and a third more as the base64 that clients are sent.
	defaultPartBytes = 8 << 20
	// defaultCacheEntries bounds the result cache.
	defaultCacheEntries = 1000
)

// Recorder keeps the record of calls. Record returns when the event is
// durable, or an error when it was not kept. It must be safe for concurrent
// use. [audit.Log] is one.
type Recorder interface {
	Record(ctx context.Context, e *audit.Event) error
}

// Options configure a registry. The zero value is usable: no record is kept.
type Options struct {
	// Recorder keeps intents and outcomes; nil keeps none.
	Recorder Recorder
	// Switches says what an operator has stopped; nil stops nothing.
	Switches Switches
	// Runs follows what runs, and is shared by registries that follow each other;
	// nil means one of the registry's own, with Switches and Standing.
	Runs *Runs
	// Standing says whether who called before a wait may still call after it;
	// nil means that everybody may.
	Standing Standing
	// Limiter counts the admissions of tools with a rate limit; nil refuses
	// those tools.
	Limiter sallyport.Limiter
	// Approvals keeps the calls that a human decides about; nil keeps them in
	// the memory of this registry, for [Registry.Approvals] to decide.
	Approvals sallyport.ApprovalQueue
	// Facts keeps what sessions and principals have read; nil keeps it in the
	// memory of this registry.
	Facts sallyport.FactStore
	// NoConversation says that what the calls answer reaches no model: nothing
	// is kept of what they read, and no rule about it holds them.
	NoConversation bool
	// Expected says of a name that no tool has why there may be one soon; empty
	// means that there is none. A call of an expected tool is told that it is not
	// currently available. nil expects nothing.
	Expected func(tool string) (why string)
	// Refresh returns a caller with the rights that it has under the
	// configuration of this registry. [Live] uses it, where a caller may have
	// been authenticated before the registry was in force; nil leaves callers
	// as they are. It must not change the caller that it is given.
	Refresh func(ctx context.Context, caller *sallyport.Caller) *sallyport.Caller
	// Logger receives what callers must not see: panics, backends' errors;
	// nil discards it.
	Logger *slog.Logger
	// Workspace is the absolute folder that "${workspace}" means and at
	// which relative paths are anchored; empty refuses both.
	Workspace string
	// Variables are further variables of declared paths, such as "home".
	Variables map[string]string
	// Budget is the number of code points of a batch; 0 means 80,000.
	Budget int
	// Timeout bounds a call; 0 means 2 min.
	Timeout time.Duration
	// Parallel bounds a batch; 0 means 8.
	Parallel int
	// StructuredBytes bounds Structured; 0 means 256 KiB.
	StructuredBytes int
	// PartBytes bounds the data of the parts of one result together; 0 means
	// 8 MiB.
	PartBytes int
	// CacheEntries bounds the result cache; 0 means 1000.
	CacheEntries int
	// Level is recorded for calls that can start no children: how the tools
	// themselves are confined, around the whole process. Empty means none.
	Level sallyport.Level
}

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
	known knownPlaces

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

// New builds a registry over the wired backends. A nil b wires nothing, so
// that only tools without capabilities run; a nil o means the defaults.
func New(b *sallyport.Backends, o *Options) (*Registry, error) {
	r := &Registry{
		schemas:  schema.NewCache(),
		workers:  newWorkerPool(),
		tools:    map[string]*toolEntry{},
		reducers: map[string]*sallyport.Reducer{},
	}
	if b != nil {
		r.backends = *b
	}
	if o != nil {
		r.o = *o
		r.o.Variables = maps.Clone(o.Variables)
	}
	if err := r.o.fillDefaults(); err != nil {
		return nil, err
	}
	if r.runs = r.o.Runs; r.runs == nil {
		r.runs = NewRuns(&RunsOptions{Switches: r.o.Switches, Standing: r.o.Standing, Recorder: r.o.Recorder, Logger: r.o.Logger})
	}
	if r.o.Approvals == nil {
		r.ownApprovals = approvals.New(nil)
		r.o.Approvals = r.ownApprovals
	}
	r.cache = newResultCache(r.o.CacheEntries)
	r.facts = newConversationFacts(r.o.Facts)
	if _, err := r.knownCleaner(context.Background()); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return r, nil
}

// Approvals is where the held calls are decided of a registry that was given no
// [Options.Approvals]; nil for any other, which is decided where its queue is.
func (r *Registry) Approvals() sallyport.ApprovalDesk {
	if r.ownApprovals == nil {
		return nil
	}
	return r.ownApprovals
}

// fillDefaults fills in defaults and reports every field that is out of range.
func (o *Options) fillDefaults() error {
	var faults []error
	positive := func(name string, v *int, otherwise int) {
		if *v < 0 {
			faults = append(faults, fmt.Errorf("registry: %s is negative", name))
		}
		if *v == 0 {
			*v = otherwise
		}
	}
	positive("Budget", &o.Budget, defaultBudget)
	positive("Parallel", &o.Parallel, defaultParallel)
	positive("StructuredBytes", &o.StructuredBytes, defaultStructuredBytes)
	positive("PartBytes", &o.PartBytes, defaultPartBytes)
	positive("CacheEntries", &o.CacheEntries, defaultCacheEntries)
	if o.Timeout < 0 {
		faults = append(faults, errors.New("registry: Timeout is negative"))
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Level == "" {
		o.Level = sallyport.LevelNone
	}
	return errors.Join(faults...)
}

// Register adds tools, all of them or none. The error is a [Faults] that
// lists every fault of every tool at once. An ID that is taken is a fault,
// never a replacement. The registry keeps copies.
func (r *Registry) Register(tools ...sallyport.Tool) error {
	entries := make([]*toolEntry, 0, len(tools))
	var faults Faults
	for i := range tools {
		e, f := r.compileTool(&tools[i])
		faults = append(faults, f...)
		entries = append(entries, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := map[string]bool{}
	for i := range tools {
		id := tools[i].ID()
		if _, taken := r.tools[id]; taken || seen[id] {
			faults = append(faults, Fault{Tool: id, Message: "a tool of this name is already registered"})
		}
		seen[id] = true
	}
	if len(faults) > 0 {
		return faults
	}
	for _, e := range entries {
		r.tools[e.id] = e
		if f := e.tool.Capabilities.FSReach; f != nil && r.backends.Personalities == nil {
			r.noteWrites("tool "+e.id, f.Write.Paths)
		}
	}
	return nil
}

// findEntry returns the registered tool of an ID, nil when there is none.
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

// Close waits for running tools until the context ends, then closes what the
// accessors hold open. Calls that arrive afterwards are refused. Tools that
// still run are an error.
func (r *Registry) Close(ctx context.Context) error {
	err := r.workers.close(ctx)
	if r.o.Runs == nil {
		r.runs.Close()
	}
	if err != nil {
		err = fmt.Errorf("registry: %w", err)
	}
	r.roles.Range(func(_, v any) bool {
		v.(*compiledRole).close()
		return true
	})
	return err
}
