// Package dashboard passes the progress of running calls to people who watch a gate.
package dashboard

import (
	"encoding/json"
	"sync"

	"github.com/sallyport/sallyport"
)

// maxWaiting bounds what waits for one who watches: what is beyond is dropped, since no call
// waits for a watcher.
const maxWaiting = 256

// Event is a report of a running call.
type Event struct {
	// Progress is the report, for the user or the dashboard, already cleaned.
	sallyport.Progress
	// Principal is who called.
	Principal string
	// Session is the conversation of the call.
	Session string
	// Call is the id of the call.
	Call string
}

// MarshalJSON writes the progress with who called.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Type      string             `json:"type"`
		Tool      string             `json:"toolName"`
		Message   string             `json:"message"`
		Percent   *float64           `json:"percent,omitempty"`
		Audience  sallyport.Audience `json:"audience"`
		Principal string             `json:"principal"`
		Session   string             `json:"session,omitempty"`
		Call      string             `json:"call_id"`
	}{"progress", e.Tool, e.Message, e.Percent, e.VisibleTo(), e.Principal, e.Session, e.Call})
}

// Hub passes events on. The zero value has no watchers. It is safe for concurrent use.
type Hub struct {
	mu       sync.Mutex
	watchers map[*watcher]bool
}

type watcher struct {
	sees   func(principal string) bool
	events chan Event
}

// IsWatched reports whether anyone watches.
func (h *Hub) IsWatched() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// Publish passes an event to those who may see it. It waits for nothing.
func (h *Hub) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if !w.sees(e.Principal) {
			continue
		}
		select {
		case w.events <- e:
		default:
		}
	}
}

// Watch returns the events from now on of the principals that sees admits, until stop is
// called. The caller bounds how many watch.
func (h *Hub) Watch(sees func(principal string) bool) (events <-chan Event, stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	w := &watcher{sees, make(chan Event, maxWaiting)}
	h.watchers[w] = true
	return w.events, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, w)
	}
}
