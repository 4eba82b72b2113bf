package registry_test

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// roles finds the personalities of an example by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// The gate decides each call: this role may use the toolset "public" and no
// other.
func ExampleNew() {
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{"guest": {Name: "guest", Toolset: []string{"@public"}}},
	}, nil)
	if err != nil {
		panic(err)
	}
	run := func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil }
	err = r.Register(
		sallyport.Tool{Name: "greet", Description: "Greets.", Toolset: "public", Run: run},
		sallyport.Tool{Name: "reset", Description: "Resets.", Toolset: "internal", Run: run},
	)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "agent"}, Personality: "guest"}
	for _, tool := range []string{"greet", "reset"} {
		res := r.Call(ctx, caller, sallyport.Request{Tool: tool})
		fmt.Printf("%q %v\n", res.Value, res.Err())
	}
	fmt.Println(r.Close(ctx))
	// Output:
	// "done" <nil>
	// "" Tool reset is not permitted for this personality
	// <nil>
}
