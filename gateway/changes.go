package gateway

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// methodListen opens a stream of changes in protocols without sessions.
const methodListen = "subscriptions/listen"

const (
	// maxListens bounds the streams of changes over HTTP that are open at once,
	// and maxOwnListens those of one principal. Each costs about fifty
	// kilobytes.
	maxListens, maxOwnListens = 1000, 100
	// maxFollowed bounds the different resources that a principal may follow
	// while the server runs, and maxFollowedBytes the total length of their
	// URIs. The protocol library keeps each of them for as long.
	maxFollowed      = 500
	maxFollowedBytes = 2 << 10
	// changeWait is how long a change waits for others, so that they make one
	// notification. The library waits as long before it reports changed lists.
	changeWait = 10 * time.Millisecond
)

// registerWithLibrary registers with the library the tool, the prompt and the resource
// that stand for everything that the gate offers.
func (s *Server) registerWithLibrary(l *mcp.Server) {
	l.AddTool(&mcp.Tool{Name: dispatch, InputSchema: map[string]any{"type": "object"}}, s.callTool)
	l.AddPrompt(&mcp.Prompt{Name: dispatch}, s.getPrompt)
	l.AddResource(&mcp.Resource{Name: dispatch, URI: dispatchURI}, s.readResource)
}

// ListChanged tells every client that its lists of tools, prompts and resources
// may have changed, and tells clients that follow resources that these may have
// changed. Calls in quick succession make one notification of each kind. Call
// it after you put another registry behind the gate or other tools into it.
func (s *Server) ListChanged() {
	// Registering the stand-ins again tells the library of a change. The
	// library knows which clients listen in which generation of the protocol,
	// and it waits briefly for further changes.
	s.registerWithLibrary(s.mcp)
	s.followed.notifySoon(func(uri string) {
		// An error would only say that a client has gone.
		_ = s.mcp.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
}

// followedResources holds the resources that clients follow, by principal.
type followedResources struct {
	mu    sync.Mutex
	by    map[string]map[string]struct{}
	timer *time.Timer // for the next notification
}

// addResource records a resource and reports whether there was room for it.
func (f *followedResources) addResource(principal, uri string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.by[principal]
	if _, known := own[uri]; known {
		return true
	}
	if len(own) == maxFollowed {
		return false
	}
	if own == nil {
		own = map[string]struct{}{}
		f.by[principal] = own
	}
	own[uri] = struct{}{}
	return true
}

// notifySoon reports a change of every followed resource by tell. It waits briefly
// for further changes and runs tell on its own goroutine, because a client that
// does not read must not delay a change.
func (f *followedResources) notifySoon(tell func(uri string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.by) == 0:
	case f.timer != nil:
		f.timer.Reset(changeWait)
	default:
		f.timer = time.AfterFunc(changeWait, func() {
			for uri := range f.listResources() {
				tell(uri)
			}
		})
	}
}

// listResources returns the followed resources of all principals.
func (f *followedResources) listResources() map[string]struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]struct{}{}
	for _, own := range f.by {
		maps.Copy(out, own)
	}
	return out
}

// callerKey is the context key under which a subscription finds its caller. The
// library makes its own request for each resource that a stream of
// notifications names.
type callerKey struct{}

// followResources passes a subscription on with its caller in the context.
func (s *Server) followResources(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	caller, err := s.callerOf(ctx, req)
	if err != nil {
		return nil, err
	}
	return next(context.WithValue(ctx, callerKey{}, caller), method, req)
}

// subscribeResource records that a client follows a resource. The caller must be
// allowed to see it.
func (s *Server) subscribeResource(ctx context.Context, r *mcp.SubscribeRequest) error {
	caller, ok := ctx.Value(callerKey{}).(*sallyport.Caller)
	if !ok {
		return errors.New("gateway: a subscription without a caller")
	}
	uri := r.Params.URI
	if len(uri) > maxFollowedBytes {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the URI is too long to be followed"}
	}
	if _, known := s.gate.Reader(caller, uri); !known {
		return noResource(r.ProtocolVersion(), uri)
	}
	if !s.followed.addResource(caller.Principal.Name, uri) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many resources are followed"}
	}
	return nil
}

// unsubscribeResource does nothing: the library knows which session follows what.
func (s *Server) unsubscribeResource(context.Context, *mcp.UnsubscribeRequest) error { return nil }
