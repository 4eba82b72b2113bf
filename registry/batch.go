package registry

import (
	"context"
	"fmt"
	"sync"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
)

// Batch runs calls in parallel, a bounded number at once, and returns their
// results in the order of the requests. They share the budget evenly. One
// call's failure never touches another's.
func (r *Registry) Batch(ctx context.Context, caller *sallyport.Caller, requests []sallyport.Request) []sallyport.Result {
	caller = orUnknownCaller(caller)
	results := make([]sallyport.Result, len(requests))
	budget := output.Budget(r.batchBudget(caller), len(requests), output.NoLimit)
	slots := make(chan struct{}, r.o.Parallel)
	var group sync.WaitGroup
	for i := range requests {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			results[i] = r.runCall(ctx, caller, requests[i], budget)
		})
	}
	group.Wait()
	return results
}

// batchBudget returns how many code points the results of a batch may have.
func (r *Registry) batchBudget(caller *sallyport.Caller) int {
	if caller.Budget > 0 {
		return caller.Budget
	}
	return r.o.Budget
}

// RegisterReducer adds the reducer of a tool, at most one each, and returns
// the function that removes it. Removing twice is safe and never removes a
// successor.
func (r *Registry) RegisterReducer(red sallyport.Reducer) (remove func(), err error) {
	if red.Reduce == nil {
		return nil, fmt.Errorf("registry: reducer for %q has no function", red.Tool)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reducers[red.Tool] != nil {
		return nil, fmt.Errorf("registry: a reducer is already registered for %q", red.Tool)
	}
	own := &red
	r.reducers[red.Tool] = own
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.reducers[red.Tool] == own {
			delete(r.reducers, red.Tool)
		}
	}, nil
}

// findReducer returns the reducer of a tool, nil when it has none.
func (r *Registry) findReducer(tool string) *sallyport.Reducer {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.reducers[tool]
}
