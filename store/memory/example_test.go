package memory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/store/memory"
)

// A program that shall leave nothing behind gives the gate a state in memory.
func ExampleNew() {
	ctx := context.Background()
	state, err := memory.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer state.Close()
	gate, err := registry.New(&sallyport.Backends{KV: state}, &registry.Options{
		Limiter: state, Approvals: state.Approvals(), Facts: state.Facts(),
	})
	if err != nil {
		log.Fatal(err)
	}
	err = gate.Register(sallyport.Tool{
		Name: "remember", Schema: []byte(`{"type":"object"}`),
		Capabilities: sallyport.Capabilities{Storage: &sallyport.StorageCapability{Scope: sallyport.ScopeToolPrivate, Kind: "kv"}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			before, _, err := c.KV.Get(ctx, "last")
			if err != nil {
				return sallyport.Result{}, err
			}
			return sallyport.OK(fmt.Sprintf("before: %q", before)), c.KV.Set(ctx, "last", "seen", 0)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}}
	for range 2 {
		fmt.Println(gate.Call(ctx, caller, sallyport.Request{Tool: "remember"}).Value)
	}
	// Output:
	// before: ""
	// before: "seen"
}
