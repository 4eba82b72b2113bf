package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/output"
	"github.com/sallyport/sallyport/registry"
)

// newResource makes a resource of a definition. The server is later asked for
// exactly this URI, so a URI that would have to be cleaned is refused.
func (s *mountedServer) newResource(d *offering) (sallyport.Resource, error) {
	cl := s.m.o.Cleaner
	if !cl.Accepts(d.key) {
		return sallyport.Resource{}, errors.New("its URI holds characters that are not shown, or a secret")
	}
	r := sallyport.Resource{
		Name: string(cl.Text(textOf(d.tree, "name"))), Title: string(cl.Text(d.displayTitle())), MediaType: string(cl.Text(textOf(d.tree, "mimeType"))),
	}
	r.Description, _ = output.Trim(string(cl.Text(textOf(d.tree, "description"))), maxDescription)
	if _, _, err := mime.ParseMediaType(r.MediaType); err != nil {
		r.MediaType = ""
	}
	if size, ok := d.tree["size"].(json.Number); ok {
		if n, err := size.Int64(); err == nil {
			r.Size = max(n, 0)
		}
	}
	if d.kind == KindTemplate {
		r.Template, r.Size = d.key, 0
	} else {
		r.URI = d.key
	}
	return r, registry.CheckResource(&r)
}

// newResourceTool returns the tool that reads the resources of the server.
func (s *mountedServer) newResourceTool(list []sallyport.Resource) sallyport.Tool {
	t := s.newTool("mcp__" + s.Name + "__resources")
	t.Form, t.Resources, t.SaysReadOnly = sallyport.FormResource, list, s.m.o.Pinned
	t.Description = "Reads the resources of the MCP server " + s.Name + "."
	var keys []definitionKey
	for i := range list {
		keys = append(keys, definitionKeyOf(&list[i]))
	}
	t.IsAvailable = func() bool { return s.isAnyAvailable(keys...) }
	templates := slices.DeleteFunc(slices.Clone(keys), func(t definitionKey) bool { return t.kind != KindTemplate })
	t.Run = func(ctx context.Context, c *sallyport.Call) (sallyport.Result, error) {
		return s.readResource(ctx, c, keys, templates)
	}
	return t
}

func definitionKeyOf(r *sallyport.Resource) definitionKey {
	if r.Template != "" {
		return definitionKey{KindTemplate, r.Template}
	}
	return definitionKey{KindResource, r.URI}
}

// readResource asks the server for a resource. A URI that is not listed belongs to some
// template. Only the gate knows to which, so none of the templates may be held
// back.
func (s *mountedServer) readResource(ctx context.Context, c *sallyport.Call, keys, families []definitionKey) (sallyport.Result, error) {
	var args struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return sallyport.Result{}, err
	}
	needs := families
	if listed := (definitionKey{KindResource, args.URI}); slices.Contains(keys, listed) {
		needs = []definitionKey{listed}
	}
	tree, err := s.sendRequest(ctx, c, resourceRead(args.URI), needs...)
	if err != nil {
		return sallyport.Result{}, err
	}
	return resourceContents(args.URI, tree), nil
}
