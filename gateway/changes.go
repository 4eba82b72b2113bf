package gateway

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxFollowed bounds the different resources that a principal may follow
	// while the server runs, and maxFollowedBytes the length of a URI.
	maxFollowed      = 500
	maxFollowedBytes = 2 << 10
	// changeWait is how long a change waits for others, so that they make one
	// notification.
	changeWait = 10 * time.Millisecond
)

// The notifications of changes.
const (
	methodToolsChanged     = "notifications/tools/list_changed"
	methodPromptsChanged   = "notifications/prompts/list_changed"
	methodResourcesChanged = "notifications/resources/list_changed"
	methodUpdated          = "notifications/resources/updated"
	methodListening        = "notifications/subscriptions/acknowledged"
)

// changeHub wakes the streams on which clients listen for changes. Each stream
// writes on its own, so a client that does not read delays no other.
type changeHub struct {
	mu        sync.Mutex
	listening map[chan struct{}]struct{}
	timer     *time.Timer // for the next change
}

// addStream returns a channel that receives after a change, at most one for all
// changes since the last. The caller ends it by remove.
func (h *changeHub) addStream() (changed <-chan struct{}, remove func()) {
	own := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listening[own] = struct{}{}
	return own, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listening, own)
	}
}

// announceChange wakes all streams after a brief wait for further changes.
func (h *changeHub) announceChange() {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case len(h.listening) == 0:
	case h.timer != nil:
		h.timer.Reset(changeWait)
	default:
		h.timer = time.AfterFunc(changeWait, h.wakeStreams)
	}
}

func (h *changeHub) wakeStreams() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for own := range h.listening {
		select {
		case own <- struct{}{}:
		default: // it has not yet written about the last change
		}
	}
}

// followedResources holds the resources that clients follow, by principal.
type followedResources struct {
	mu sync.Mutex
	by map[string]map[string]string
}

// addResource records a resource. It returns the URI as it is kept once for all
// sessions of the principal, and whether there was room for it.
func (f *followedResources) addResource(principal, uri string) (kept string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.by[principal]
	if kept, known := own[uri]; known {
		return kept, true
	}
	if len(own) == maxFollowed {
		return "", false
	}
	if own == nil {
		own = map[string]string{}
		f.by[principal] = own
	}
	own[uri] = uri
	return uri, true
}

// changeInterest says which changes a stream is told of.
type changeInterest struct {
	tools, prompts, resources bool
	uris                      []string
	id                        json.RawMessage // that of the request that listens; nil in a session
}

// tell sends the notifications of a change. It stops at the first error.
func (w *changeInterest) tell(send func(method string, params any) error) error {
	for _, list := range []struct {
		wanted bool
		method string
	}{{w.tools, methodToolsChanged}, {w.prompts, methodPromptsChanged}, {w.resources, methodResourcesChanged}} {
		if list.wanted {
			if err := send(list.method, changeNote{Meta: w.meta()}); err != nil {
				return err
			}
		}
	}
	for _, uri := range w.uris {
		if err := send(methodUpdated, changeNote{Meta: w.meta(), URI: uri}); err != nil {
			return err
		}
	}
	return nil
}

type changeNote struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty"`
	URI  string                     `json:"uri,omitempty"`
}

// meta names the request that listens.
func (w *changeInterest) meta() map[string]json.RawMessage {
	if w.id == nil {
		return nil
	}
	return map[string]json.RawMessage{mcp.MetaKeySubscriptionID: w.id}
}

func (w *changeInterest) any() bool { return w.tools || w.prompts || w.resources || len(w.uris) > 0 }

// acknowledgement returns the parameters of the notification that says what a
// client will be told of.
func (w *changeInterest) acknowledgement() any {
	return struct {
		Meta          map[string]json.RawMessage    `json:"_meta"`
		Notifications mcp.NotificationSubscriptions `json:"notifications"`
	}{w.meta(), mcp.NotificationSubscriptions{
		ToolsListChanged: w.tools, PromptsListChanged: w.prompts, ResourcesListChanged: w.resources, ResourceSubscriptions: w.uris,
	}}
}
