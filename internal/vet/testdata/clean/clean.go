// Package clean holds tools that use their accessors alone.
package clean

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

// Fetch uses the client of its call, handed through functions and fields.
func Fetch() sallyport.Tool {
	return sallyport.Tool{Name: "fetch", Run: func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		g := &getter{client: c.Network.Client()}
		text, err := g.get(ctx, "https://example.com/")
		return sallyport.OK(text), err
	}}
}

type getter struct{ client *http.Client }

func (g *getter) get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	own := *g.client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := own.Do(req)
	if err != nil {
		return "", fmt.Errorf("get: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(body), err
}

// Files reads through the accessor, also where it is an fs.FS.
func Files() sallyport.Tool {
	t := &reader{}
	return sallyport.Tool{Name: "files", Run: t.run}
}

type reader struct{ once sync.Once }

func (r *reader) run(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
	r.once.Do(func() {})
	var names []string
	err := fs.WalkDir(c.FS, ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	slices.SortFunc(names, strings.Compare)
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 8, 1, ' ', 0)
	write(table, names)
	return sallyport.OK(b.String()), errors.Join(err, table.Flush())
}

func write(w io.Writer, names []string) {
	buffered := bufio.NewWriter(w)
	for _, n := range names {
		fmt.Fprintln(buffered, n)
	}
	_ = buffered.Flush()
}

type in struct {
	Text string `json:"text"`
}

// Typed is made of a typed function.
func Typed() sallyport.Tool {
	return schema.MustTool(sallyport.Tool{Name: "typed"}, func(_ context.Context, c *sallyport.Call, in in) (sallyport.Result, error) {
		c.Emit(sallyport.Progress{})
		text, err := json.Marshal(in)
		return sallyport.OK(fmt.Sprintf("%s", text)), err
	})
}
