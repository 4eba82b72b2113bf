// Package web holds the tools that read the web. [Tools] returns them for a
// registry.
//
// Every tool reaches hosts through the accessor of its call and nothing else:
// which hosts, addresses and redirects are allowed is decided there. The
// tools turn what a server answers into text that a model can use, and bound
// the size, the nesting and the time of that work, because the page is
// written by other people.
//
// The package runs no scripts and keeps no cookies, no cache and no history.
package web

import (
	"context"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const toolset = "web"

// Tools returns fetch_url. The caller owns the slice; the tools may be used
// by many calls at once.
func Tools() []sallyport.Tool {
	return []sallyport.Tool{fetchURL()}
}

// fetchURL declares fetch_url. It asks for "*", which is whatever the
// personality allows and nothing without a network block.
func fetchURL() sallyport.Tool {
	converter := newTextConverter()
	return schema.MustTool(sallyport.Tool{
		Name: "fetch_url", Title: "Fetch URL", Toolset: toolset,
		Description: "Fetch a web page or document with GET. HTML comes back as Markdown of its main text with absolute links, " +
			"JSON and text as they are. A long document is cut; continue with offset.",
		Schema: args.Schema[fetchInput](func(get func(string) args.Property) {
			get("url").Length(1, reply.MaxURLBytes).Format("uri")
			get("max_chars").Between(0, fetchChars)
			get("offset").Min(0)
		}),
		Touches:        []sallyport.Touch{{Capability: "network", Argument: "url"}},
		Destinations:   map[string]sallyport.ValueKind{"url": effect.URL},
		Capabilities:   sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
		MaxResultChars: fetchChars, Timeout: time.Minute, HonoursDeadline: true, ReadOnly: true, Idempotent: true, OutputIsUntrusted: true,
	}, func(ctx context.Context, c *sallyport.Call, in fetchInput) (sallyport.Result, error) {
		return fetchPage(ctx, c, in, converter)
	})
}
