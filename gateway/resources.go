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
	// resourcePrefix stands before the URI in the id of a call for a resource
	// that no tool reads.
	resourcePrefix = string(sallyport.FormResource) + ":"
	// codeNoResource says in protocols with sessions that there is no such
	// resource. Later protocols say that the parameters are invalid.
	codeNoResource = -32002
	// maxURIBytes bounds a URI. A longer URI names no resource.
	maxURIBytes = 8 << 10
)

// listResources answers a listing with the resources behind a cursor.
func (s *Server) listResources(ctx context.Context, r *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
	rest, next, err := s.resourcesPage(ctx, r, r.Params.Cursor, func(res *sallyport.Resource) string { return res.URI })
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

// listTemplates answers a listing with the resource templates behind a cursor.
func (s *Server) listTemplates(ctx context.Context, r *mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
	rest, next, err := s.resourcesPage(ctx, r, r.Params.Cursor, func(res *sallyport.Resource) string { return res.Template })
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

// resourcesPage returns one page of the resources that have a key, and the cursor
// of the next.
func (s *Server) resourcesPage(ctx context.Context, r mcp.Request, cursor string, key func(*sallyport.Resource) string) ([]sallyport.Resource, string, error) {
	caller, err := s.callerOf(ctx, r)
	if err != nil {
		return nil, "", err
	}
	var all []sallyport.Resource
	for _, v := range s.gate.Resources(caller) {
		if key(&v) != "" {
			all = append(all, v)
		}
	}
	rest, next, refused := pageBehind(all, cursor, key)
	if refused != nil {
		return nil, "", refused
	}
	return rest, next, nil
}

// readResource asks the gate for the content of a URI. The gate also refuses a
// URI that no tool reads, so that the attempt is recorded.
func (s *Server) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri, _ := ctx.Value(nameKey{}).(string)
	if len(uri) > maxURIBytes || !strings.Contains(uri, ":") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "expected an absolute URI"}
	}
	caller, err := s.callerOf(ctx, r)
	if err != nil {
		return nil, err
	}
	id, known := s.gate.Reader(caller, uri)
	if !known {
		id = resourcePrefix + uri // the name of a tool has no colon
	}
	// A string always marshals.
	args, _ := json.Marshal(map[string]string{"uri": uri})
	res, asked, err := s.callThroughGate(ctx, r, sallyport.Request{Tool: id, Args: args}, roundInput{r.Params.InputResponses, r.Params.RequestState})
	switch {
	case err != nil:
		return nil, err
	case asked != nil:
		return &mcp.ReadResourceResult{Meta: asked.resultMeta(&res), InputRequests: asked.requests, RequestState: asked.state}, nil
	case !known && res.Code == sallyport.CodeNotAvailable:
		return nil, noResource(r.ProtocolVersion(), uri)
	case !res.OK:
		return nil, failureError(&res, 0)
	}
	return &mcp.ReadResourceResult{Meta: resultMeta(&res), Contents: resourceContents(&res)}, nil
}

// resourceContents converts the parts of a result into the contents of a resource. The gate
// ensures that each part has a URI.
func resourceContents(res *sallyport.Result) []*mcp.ResourceContents {
	out := make([]*mcp.ResourceContents, len(res.Parts))
	for i := range res.Parts {
		p := &res.Parts[i]
		out[i] = &mcp.ResourceContents{URI: p.URI, MIMEType: p.MediaType, Text: p.Text, Blob: p.Data}
		if p.Text == "" && p.Data == nil {
			// The library leaves out an empty text, but one of the two must be
			// present.
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
	// A string always marshals.
	data, _ := json.Marshal(map[string]string{"uri": uri})
	return &jsonrpc.Error{Code: code, Message: "Resource not found", Data: data}
}
