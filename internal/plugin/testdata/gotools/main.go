// Command gotools is built-in tools, compiled as a plugin, and one tool of its own.
package main

import (
	"context"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/plugin/guest"
	"github.com/sallyport/sallyport/tools/file"
	"github.com/sallyport/sallyport/tools/httpreq"
	"github.com/sallyport/sallyport/tools/todo"
)

func init() {
	guest.Serve(slices.Concat(file.Tools(), httpreq.Tools(), todo.Tools(), []sallyport.Tool{tellSecret()})...)
}

// tellSecret is a tool that answers with its secret, which the gate removes.
func tellSecret() sallyport.Tool {
	return sallyport.Tool{
		Name: "tell_secret", Description: "Tells its secret", Capabilities: sallyport.Capabilities{Secrets: []string{"word"}},
		Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
			s, err := c.Secrets.Get(ctx, "word")
			return sallyport.OK("the secret is " + s.Reveal()), err
		},
	}
}

func main() {}
