package sandbox_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/sandbox"
)

// roles finds the personalities of the example by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// A gate with a runner starts the children of its tools in confinement. The
// program needs nothing else: the package runs the program itself again to set
// up each child, before main or TestMain begins.
func ExampleNew() {
	ctx := context.Background()
	runner, err := sandbox.New(nil)
	if err != nil {
		panic(err)
	}
	gate, err := registry.New(&sallyport.Backends{
		Personalities: roles{"worker": {Name: "worker", Process: []string{"echo", "cat"}}},
		Process:       runner,
	}, nil)
	if err != nil {
		panic(err)
	}
	err = gate.Register(sallyport.Tool{
		Name: "run", Description: "Runs two programs, of which one is granted.",
		Capabilities: sallyport.Capabilities{Process: &sallyport.ProcessCapability{AllowedBinaries: []string{"echo"}}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			var out strings.Builder
			p, err := c.Process.Spawn(ctx, "echo", []string{"hello from a child"}, &sallyport.SpawnOptions{Output: &out})
			if err != nil {
				return sallyport.Result{}, err
			}
			_, refusal := c.Process.Spawn(ctx, "cat", []string{"/etc/hostname"}, nil)
			return sallyport.OK(fmt.Sprintf("exit %d: %s%v", p.ExitCode, &out, refusal)), nil
		},
	})
	if err != nil {
		panic(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "agent"}, Personality: "worker"}
	fmt.Println(gate.Call(ctx, caller, sallyport.Request{Tool: "run"}).Value)
	fmt.Println(gate.Close(ctx), runner.Close())
	// Output:
	// exit 0: hello from a child
	// BINARY_NOT_ALLOWED: cat is not in the declared allowedBinaries
	// <nil> <nil>
}
