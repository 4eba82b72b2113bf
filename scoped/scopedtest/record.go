package scopedtest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport/sallyport"
)

// Touch is one thing that a tool reached for, or one declared item.
type Touch struct {
	// Capability names the group: network, secrets, storage, fs_reach.read,
	// fs_reach.write, process, attachments, database, mail.
	Capability string
	// Item is the host, reference, key, path (with ${workspace} in front of
	// what lies there), binary, kind of attachment, connection or recipient.
	Item string
	// Refused says that the grant did not cover it.
	Refused bool
}

// String returns "capability item", with "refused " in front of a refusal.
func (t Touch) String() string {
	s := t.Capability + " " + t.Item
	if t.Refused {
		return "refused " + s
	}
	return s
}

// Record is what happened in a call. Read it when the tool is done.
type Record struct {
	lockedState
	declared  sallyport.Capabilities
	workspace string

	touched   []Touch
	progress  []sallyport.Progress
	decisions []sallyport.Decision
	spawned   []Spawned
	queried   []Queried
	sent      []sallyport.Message
	requests  []*http.Request
}

// RecordOf returns the record of a call that NewCall made. It panics for any
// other call.
func RecordOf(c *sallyport.Call) *Record {
	n, ok := c.Network.(*imitatedNetwork)
	if !ok {
		panic("scopedtest: the call was not made by NewCall")
	}
	return n.record
}

// Touched returns what the tool reached for, each thing once, sorted. Tests
// compare it with a list, so that a change of reach shows in a review.
func Touched(c *sallyport.Call) []Touch { return RecordOf(c).Touched() }

// Unused returns the declared items that the tool did not touch, so that a
// declaration does not stay wider than the tool. What a child reads is not
// observed: once one was started, no item of fs_reach.read is listed.
func Unused(c *sallyport.Call) []Touch { return RecordOf(c).Unused() }

// Touched is the method behind the function of this name.
func (r *Record) Touched() []Touch {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.Clone(r.touched)
	slices.SortFunc(list, func(a, b Touch) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(list)
}

// Unused is the method behind the function of this name.
func (r *Record) Unused() []Touch {
	touched := r.Touched()
	started := len(r.Spawned()) > 0
	var unused []Touch
	for _, d := range r.declaredItems() {
		if started && d.Capability == "fs_reach.read" {
			continue
		}
		if !slices.ContainsFunc(touched, func(t Touch) bool { return !t.Refused && r.coversTouch(d, t) }) {
			unused = append(unused, d)
		}
	}
	return unused
}

// Decisions returns what the accessors reported.
func (r *Record) Decisions() []sallyport.Decision { return cloneList(r, &r.decisions) }

// Progress returns what the tool emitted.
func (r *Record) Progress() []sallyport.Progress { return cloneList(r, &r.progress) }

// Spawned returns the processes that were started, in order.
func (r *Record) Spawned() []Spawned { return cloneList(r, &r.spawned) }

// Queried returns the statements that were run, in order.
func (r *Record) Queried() []Queried { return cloneList(r, &r.queried) }

// Sent returns the mails that were sent, in order.
func (r *Record) Sent() []sallyport.Message { return cloneList(r, &r.sent) }

// Requests returns the HTTP requests that reached a host, in order. Their
// bodies are consumed.
func (r *Record) Requests() []*http.Request { return cloneList(r, &r.requests) }

func cloneList[T any](r *Record, list *[]T) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(*list)
}
