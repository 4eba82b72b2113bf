package registry_test

import (
	"context"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
)

// A server replaces its tools while it runs: calls that run end in the
// registry in which they began.
func ExampleLive() {
	newRegistry := func(greeting string) *registry.Registry {
		r, err := registry.New(nil, nil)
		if err != nil {
			panic(err)
		}
		err = r.Register(sallyport.Tool{
			Name: "greet", Description: "Greets.",
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(greeting), nil },
		})
		if err != nil {
			panic(err)
		}
		return r
	}
	ctx := context.Background()
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "agent"}}
	live := registry.NewLive(newRegistry("good morning"))
	fmt.Println(live.Call(ctx, caller, sallyport.Request{Tool: "greet"}).Value)

	previous, idle := live.Replace(newRegistry("good evening"), nil)
	fmt.Println(live.Call(ctx, caller, sallyport.Request{Tool: "greet"}).Value)

	<-idle
	fmt.Println(previous.Close(ctx))
	// Output:
	// good morning
	// good evening
	// <nil>
}
