package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
)

// checkFollowed records that a caller follows a resource, which it must be allowed
// to see. It returns the URI as it is kept.
func (c *core) checkFollowed(r *request, caller *sallyport.Caller, uri string) (string, error) {
	if len(uri) > maxFollowedBytes {
		return "", wire.Invalid("the URI is too long to be followed")
	}
	if _, known := c.gate.Reader(caller, uri); !known {
		return "", noResource(r.rounds, uri)
	}
	kept, ok := c.followed.addResource(caller.Principal.Name, uri)
	if !ok {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many resources are followed"}
	}
	return kept, nil
}

func (c *core) followResource(_ context.Context, r *request, out []byte) ([]byte, error) {
	caller, err := c.callerOf(r, "")
	if err != nil {
		return out, err
	}
	uri, err := r.In.Text("uri")
	if err == nil {
		uri, err = c.checkFollowed(r, caller, uri)
	}
	if err != nil {
		return out, err
	}
	r.session.follow(uri)
	return append(out, `{}`...), nil
}

func (*core) unfollowResource(_ context.Context, r *request, out []byte) ([]byte, error) {
	uri, err := r.In.Text("uri")
	if err != nil {
		return out, err
	}
	r.session.unfollow(uri)
	return append(out, `{}`...), nil
}

// listen tells a client of changes until it cancels the request.
func (c *core) listen(ctx context.Context, r *request, out []byte) ([]byte, error) {
	wanted, err := c.readInterest(r)
	if err != nil {
		return out, err
	}
	changed, remove := c.changes.addStream()
	defer remove()
	for gone := r.notify(methodListening, wanted.acknowledgement()); gone == nil && ctx.Err() == nil && wanted.any(); {
		select {
		case <-changed:
			gone = wanted.tell(r.notify)
		case <-ctx.Done():
		}
	}
	out = c.appendServer(append(out, `{"resultType":"complete","_meta":{`...))
	out = append(append(out, `,"`+mcp.MetaKeySubscriptionID+`":`...), wanted.id...)
	return append(out, `}}`...), nil
}

// readInterest reads what a client wants to be told of.
func (c *core) readInterest(r *request) (*changeInterest, error) {
	if r.In.Value("notifications") == nil {
		return nil, wire.Invalid("missing required 'notifications' field")
	}
	all, err := r.In.Object("notifications")
	if err != nil {
		return nil, err
	}
	if all.Value("taskIds") != nil && !r.able.Tasks {
		return nil, errNoTasks(r.Method + " with taskIds")
	}
	w := &changeInterest{id: slices.Clone(r.ID)}
	for key, to := range map[string]*bool{"toolsListChanged": &w.tools, "promptsListChanged": &w.prompts, "resourcesListChanged": &w.resources} {
		if err := readValue(all, key, to); err != nil {
			return nil, err
		}
	}
	var uris []string
	if err := readValue(all, "resourceSubscriptions", &uris); err != nil || len(uris) == 0 {
		return w, err
	}
	caller, err := c.callerOf(r, "")
	if err != nil {
		return nil, err
	}
	kept := map[string]struct{}{}
	for _, uri := range uris {
		if uri, err = c.checkFollowed(r, caller, uri); err != nil {
			return nil, err
		}
		kept[uri] = struct{}{}
	}
	w.uris = slices.Sorted(maps.Keys(kept))
	return w, nil
}

// readValue reads a value without keys of its own.
func readValue(all wire.Members, key string, to any) error {
	value := all.Value(key)
	if value == nil {
		return nil
	}
	if json.Unmarshal(value, to) != nil {
		return wire.Invalid("notifications." + key + " is of another type")
	}
	return nil
}
