package gateway

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

const (
	// resourcePrefix stands before what the gate is asked for a resource that
	// nobody reads.
	resourcePrefix = string(sallyport.FormResource) + ":"
	// codeNoResource says in protocols with sessions that there is no such
	// resource. Later ones say that the parameters are invalid.
	codeNoResource = -32002
	// maxURIBytes bounds a URI: what is longer is no resource.
	maxURIBytes = 8 << 10
)

// listResources answers a listing with the resources behind a cursor.
func (s *Server) listResources(ctx context.Context, r *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	rest, next, err := s.resources(ctx, r, r.Params.Cursor, func(res *sallyport.Resource) string { return res.URI })
	if err != nil {
		return nil, err
	}
	out := &mcp.ListResourcesResult{Cacheable: listCache, NextCursor: next, Resources: make([]*mcp.Resource, len(rest))}
	for i := range rest {
		v := &rest[i]
		out.Resources[i] = &mcp.Resource{
			URI: v.URI, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: v.MediaType, Size: v.Size,
		}
	}
	return out, nil
}

// listTemplates answers a listing with the families of resources behind a
// cursor.
func (s *Server) listTemplates(ctx context.Context, r *mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
	rest, next, err := s.resources(ctx, r, r.Params.Cursor, func(res *sallyport.Resource) string { return res.Template })
	if err != nil {
		return nil, err
	}
	out := &mcp.ListResourceTemplatesResult{
		Cacheable: listCache, NextCursor: next, ResourceTemplates: make([]*mcp.ResourceTemplate, len(rest)),
	}
	for i := range rest {
		v := &rest[i]
		out.ResourceTemplates[i] = &mcp.ResourceTemplate{
			URITemplate: v.Template, Name: v.Name, Title: v.Title, Description: v.Description, MIMEType: v.MediaType,
		}
	}
	return out, nil
}

// resources returns a page of what has a key, and the cursor of the next.
func (s *Server) resources(ctx context.Context, r mcp.Request, cursor string, key func(*sallyport.Resource) string) ([]sallyport.Resource, string, error) {
	caller, err := s.caller(ctx, r)
	if err != nil {
		return nil, "", err
	}
	var all []sallyport.Resource
	for _, v := range s.gate.Resources(caller) {
		if key(&v) != "" {
			all = append(all, v)
		}
	}
	rest, next, refused := behind(all, cursor, key)
	if refused != nil {
		return nil, "", refused
	}
	return rest, next, nil
}

// readResource asks the gate for what is behind a URI. One that nobody reads is
// the gate's to refuse as well, so that there is a record.
func (s *Server) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri, _ := ctx.Value(nameKey{}).(string)
	if len(uri) > maxURIBytes || !strings.Contains(uri, ":") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "expected an absolute URI"}
	}
	caller, err := s.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	id, known := s.gate.Reader(caller, uri)
	if !known {
		id = resourcePrefix + uri // no tool has a colon in its name
	}
	// A text always marshals.
	args, _ := json.Marshal(map[string]string{"uri": uri})
	res, asked, err := s.through(ctx, r, sallyport.Request{Tool: id, Args: args}, input{r.Params.InputResponses, r.Params.RequestState})
	switch {
	case err != nil:
		return nil, err
	case asked != nil:
		return &mcp.ReadResourceResult{Meta: asked.meta(&res), InputRequests: asked.requests, RequestState: asked.state}, nil
	case !known && res.Code == sallyport.CodeNotAvailable:
		return nil, noResource(r.ProtocolVersion(), uri)
	case !res.OK:
		return nil, failure(&res, 0)
	}
	return &mcp.ReadResourceResult{Meta: meta(&res), Contents: read(&res)}, nil
}

// read turns the parts of a result into what is behind a URI: the gate holds
// each of them to one.
func read(res *sallyport.Result) []*mcp.ResourceContents {
	out := make([]*mcp.ResourceContents, len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		out[i] = &mcp.ResourceContents{URI: p.URI, MIMEType: p.MediaType, Text: p.Text, Blob: p.Data}
		if p.Text == "" && p.Data == nil {
			// The library leaves an empty text out, and one of the two has to
			// be there.
			out[i].Blob = []byte{}
		}
	}
	return out
}

func noResource(version, uri string) error {
	code := int64(codeNoResource)
	if version >= statelessSince {
		code = jsonrpc.CodeInvalidParams
	}
	// A text always marshals.
	data, _ := json.Marshal(map[string]string{"uri": uri})
	return &jsonrpc.Error{Code: code, Message: "Resource not found", Data: data}
}
