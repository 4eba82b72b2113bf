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
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/approvals"
	"github.com/sallyport/sallyport/internal/conversation"
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
	r.ownPlaces = sync.OnceValue(r.newPlaces)
	r.cache = newResultCache(r.o.CacheEntries)
	if r.conversations = r.o.Conversations; r.conversations == nil {
		r.conversations = conversation.New(nil)
	}
	r.facts = newConversationFacts(&r.o, &r.conversations.Unstored)
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
	r.lists.forgetAll()
	for _, e := range entries {
		r.tools[e.id] = e
		if f := e.tool.Capabilities.FSReach; f != nil && r.backends.Personalities == nil {
			r.noteWrites("tool "+e.id, f.Write.Paths)
		}
	}
	return nil
}

// Close waits for running tools until the context ends, then closes what the
// accessors hold open. Calls that arrive afterwards are refused. Tools that
// still run are an error.
func (r *Registry) Close(ctx context.Context) error {
	err := r.workers.close(ctx)
	r.facts.moveUnstored(ctx)
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
