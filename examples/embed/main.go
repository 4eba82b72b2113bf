// Command embed holds one tool to a personality with the library alone: no
// configuration, no server, no record.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
)

type wordCountInput struct {
	Path string `json:"path" jsonschema:"Text file whose words are counted."`
}

func countWords(_ context.Context, c *sallyport.Call, in wordCountInput) (sallyport.Result, error) {
	text, err := c.FS.ReadFile(in.Path)
	if err != nil {
		return sallyport.Result{}, err
	}
	return sallyport.OK(fmt.Sprint(len(strings.Fields(string(text))), " words")), nil
}

// roles finds personalities by name. Another pointer means another personality: the
// gate keeps what it has found out about one.
type roles map[string]*sallyport.Personality

// Personality implements sallyport.Personalities.
func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

func run(ctx context.Context) error {
	workspace, err := os.Getwd()
	if err != nil {
		return err
	}
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{"reader": {Name: "reader", FSReach: &sallyport.Reach{Read: []string{workspace}}}},
		Files:         &sallyport.FileBackend{},
	}, &registry.Options{Workspace: workspace})
	if err != nil {
		return err
	}
	err = r.Register(schema.MustTool(sallyport.Tool{
		Name: "word_count", Description: "Count the words of a text file.", ReadOnly: true,
		Capabilities: sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}},
	}, countWords))
	if err != nil {
		return err
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "agent"}, Personality: "reader"}
	for _, args := range []string{`{"path":"notes.txt"}`, `{"path":"/etc/hostname"}`} {
		res := r.Call(ctx, caller, sallyport.Request{Tool: "word_count", Args: []byte(args)})
		if res.OK {
			fmt.Println(res.Value)
		} else {
			fmt.Println(res.Error)
		}
	}
	return r.Close(ctx)
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
