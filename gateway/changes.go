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

// methodListen opens a stream of changes where there are no sessions.
const methodListen = "subscriptions/listen"

const (
	// maxListens bounds the streams of changes over HTTP that are open at
	// once, and those of one principal. Each costs about fifty kilobytes.
	maxListens, maxOwnListens = 1000, 100
	// maxFollowed bounds the different resources that a principal may follow
	// while the server runs, maxFollowedBytes the length of their URIs: the
	// protocol library keeps each of them for as long.
	maxFollowed      = 500
	maxFollowedBytes = 2 << 10
	// changeWait is how long a change waits for others, so that they make one
	// notification. The library waits as long with lists.
	changeWait = 10 * time.Millisecond
)

// register gives the library what stands for everything that the gate has.
func (s *Server) register(l *mcp.Server) {
	l.AddTool(&mcp.Tool{Name: dispatch, InputSchema: map[string]any{"type": "object"}}, s.call)
	l.AddPrompt(&mcp.Prompt{Name: dispatch}, s.getPrompt)
	l.AddResource(&mcp.Resource{Name: dispatch, URI: dispatchURI}, s.readResource)
}

// ListChanged tells every client that its lists of tools, prompts and resources
// may be others now, and those that follow resources that these may be. Calls
// in quick succession make one notification of a kind. It is for who puts
// another registry behind the gate, or other tools into it.
func (s *Server) ListChanged() {
	// Registering anew what stands for everything is how the library learns of
	// a change. It knows who listens, in which generation of the protocol, and
	// waits a little for further changes.
	s.register(s.mcp)
	s.followed.soon(func(uri string) {
		// An error would be about a client that is gone.
		_ = s.mcp.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
	})
}

// followed is the resources that clients follow, by principal.
type followed struct {
	mu    sync.Mutex
	by    map[string]map[string]struct{}
	timer *time.Timer // of the next notification
}

// add notes a resource and reports whether there was room for it.
func (f *followed) add(principal, uri string) bool {
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

// soon has each of them told of, after further changes and on a goroutine of
// its own: a client that does not read must not hold up a change.
func (f *followed) soon(tell func(uri string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.by) == 0:
	case f.timer != nil:
		f.timer.Reset(changeWait)
	default:
		f.timer = time.AfterFunc(changeWait, func() {
			for uri := range f.all() {
				tell(uri)
			}
		})
	}
}

// all returns every one of them.
func (f *followed) all() map[string]struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]struct{}{}
	for _, own := range f.by {
		maps.Copy(out, own)
	}
	return out
}

// callerKey is where a subscription finds its caller: the library makes a
// request of its own for each resource that a stream of notifications names.
type callerKey struct{}

// follow hands a subscription on with its caller.
func (s *Server) follow(ctx context.Context, next mcp.MethodHandler, method string, req mcp.Request) (mcp.Result, error) {
	caller, err := s.caller(ctx, req)
	if err != nil {
		return nil, err
	}
	return next(context.WithValue(ctx, callerKey{}, caller), method, req)
}

// subscribe notes that a client follows a resource, one that it may see.
func (s *Server) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
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
	if !s.followed.add(caller.Principal.Name, uri) {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "too many resources are followed"}
	}
	return nil
}

// unsubscribe has nothing to forget: the library knows which session follows
// what.
func (s *Server) unsubscribe(context.Context, *mcp.UnsubscribeRequest) error { return nil }
