package registry

import (
	"context"
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
