package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

const (
	// resourcePrefix stands before the URI in the id of a call for a resource
	// that no tool reads.
	resourcePrefix = string(sallyport.FormResource) + ":"
	// codeNoResource says in protocols with sessions that there is no such
	// resource. Later protocols say that the parameters are invalid.
	codeNoResource = -32002
	// maxURIBytes bounds a URI. A longer URI names no resource.
	maxURIBytes = 8 << 10
)

func (c *core) listResources(_ context.Context, r *request, out []byte) ([]byte, error) {
	rest, next, err := c.resourcesPage(r, func(res *sallyport.Resource) string { return res.URI })
	if err != nil {
		return out, err
	}
	page := &mcp.ListResourcesResult{Cacheable: listCache, NextCursor: next, Resources: make([]*mcp.Resource, len(rest))}
	for i := range rest {
		v := &rest[i]
		page.Resources[i] = &mcp.Resource{
			URI: v.URI, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: v.MediaType, Size: v.Size,
		}
	}
	return c.appendObject(out, r, page)
}

func (c *core) listTemplates(_ context.Context, r *request, out []byte) ([]byte, error) {
	rest, next, err := c.resourcesPage(r, func(res *sallyport.Resource) string { return res.Template })
	if err != nil {
		return out, err
	}
	page := &mcp.ListResourceTemplatesResult{
		Cacheable: listCache, NextCursor: next, ResourceTemplates: make([]*mcp.ResourceTemplate, len(rest)),
	}
	for i := range rest {
		v := &rest[i]
		page.ResourceTemplates[i] = &mcp.ResourceTemplate{
			URITemplate: v.Template, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: v.MediaType,
		}
	}
	return c.appendObject(out, r, page)
}

// resourcesPage returns one page of the resources that have a key, and the cursor
// of the next.
func (c *core) resourcesPage(r *request, key func(*sallyport.Resource) string) ([]sallyport.Resource, string, error) {
	caller, cursor, err := c.readListing(r)
	if err != nil {
		return nil, "", err
	}
	var all []sallyport.Resource
	for _, v := range c.gate.Resources(caller) {
		if key(&v) != "" {
			all = append(all, v)
		}
	}
	return pageBehind(all, cursor, key)
}

// readResource asks the gate for the content of a URI. The gate also refuses a
// URI that no tool reads, so that the attempt is recorded.
func (c *core) readResource(ctx context.Context, r *request, out []byte) ([]byte, error) {
	uri, err := r.In.Text("uri")
	if err != nil {
		return out, err
	}
	if len(uri) > maxURIBytes || !strings.Contains(uri, ":") {
		return out, wire.Invalid("expected an absolute URI")
	}
	caller, err := c.callerOf(r, "")
	if err != nil {
		return out, err
	}
	id, known := c.gate.Reader(caller, uri)
	if !known {
		id = resourcePrefix + uri // the name of a tool has no colon
	}
	// A string always marshals.
	args, _ := json.Marshal(map[string]string{"uri": uri})
	res, asked, err := c.callThroughGate(ctx, r, sallyport.Request{Tool: id, Args: args})
	switch {
	case err != nil:
		return out, err
	case asked != nil:
		return c.appendQuestion(out, notCached+`"contents":null`, asked, &res)
	case !known && res.Code == sallyport.CodeNotAvailable:
		return out, noResource(r.rounds, uri)
	case !res.OK:
		return out, failureError(&res, 0)
	}
	if out, err = c.appendMeta(append(out, '{'), r.rounds, &res); err != nil {
		return out, err
	}
	out, err = wire.AppendJSON(append(out, `,`+notCached+`"contents":`...), resourceContents(&res))
	return appendEnd(out, r.rounds), err
}

// notCached are the members that forbid clients to cache: the content behind a URI
// may differ next time.
const notCached = `"ttlMs":0,"cacheScope":"` + listScope + `",`

// resourceContents converts the parts of a result into the contents of a resource. The gate
// ensures that each part has a URI.
func resourceContents(res *sallyport.Result) []*mcp.ResourceContents {
	out := make([]*mcp.ResourceContents, len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		out[i] = &mcp.ResourceContents{URI: p.URI, MIMEType: p.MediaType, Text: p.Text, Blob: p.Data}
		if p.Text == "" && p.Data == nil {
			// The type leaves out an empty text, but one of the two must be
			// present.
			out[i].Blob = []byte{}
		}
	}
	return out
}

// noResource returns the answer about a URI that nothing reads for the caller.
func noResource(rounds bool, uri string) error {
	code := int64(codeNoResource)
	if rounds {
		code = jsonrpc.CodeInvalidParams
	}
	// A string always marshals.
	data, _ := json.Marshal(map[string]string{"uri": uri})
	return &jsonrpc.Error{Code: code, Message: "Resource not found", Data: data}
}
