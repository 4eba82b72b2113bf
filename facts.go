package sallyport

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Fact is a kind of effect that calls have on a conversation. Data theft
// through an agent needs all three: text of an attacker that directs the agent,
// data worth stealing, and a way out.
type Fact string

// The facts.
const (
	// FactPrivate: data of the operator came into the conversation.
	FactPrivate Fact = "private"
	// FactUntrusted: content from an untrusted source came into the
	// conversation.
	FactUntrusted Fact = "untrusted"
	// FactOutward: data of the conversation may have left it, or was written
	// outside the workspace.
	FactOutward Fact = "outward"
)

// Facts says which facts a call adds to its conversation when it runs.
type Facts struct {
	// Private says that the call may read data of the operator: files,
	// attachments, databases, or stores that outlive the session. It also
	// covers hosts that may be within the operator's own network and are only
	// read from, and the data behind the secrets that an upstream server was
	// given.
	Private bool `json:"private,omitempty"`
	// Untrusted says that the call may bring content from an untrusted source:
	// the network or an upstream server.
	Untrusted bool `json:"untrusted,omitempty"`
	// Outward says that the call may carry data out or write outside the
	// workspace.
	Outward bool `json:"outward,omitempty"`
}

// List returns the facts that hold, in the order of the constants.
func (f Facts) List() []Fact {
	var list []Fact
	for _, item := range []struct {
		holds bool
		fact  Fact
	}{{f.Private, FactPrivate}, {f.Untrusted, FactUntrusted}, {f.Outward, FactOutward}} {
		if item.holds {
			list = append(list, item.fact)
		}
	}
	return list
}

// Facts computes the facts of a call with a grant from what the call may touch.
// A declaration that was not granted does not count. Level is the confinement
// of the child processes; it is empty when there are none. Children without
// confinement have every fact. Workspace is the absolute folder outside of
// which a write counts; when it is empty, every write counts.
func (t *Tool) Facts(g *Grant, level Level, workspace string) Facts {
	if level == LevelNone {
		return Facts{Private: true, Untrusted: true, Outward: true}
	}
	f := Facts{Untrusted: t.Server() != "" || t.Plugin != "" || t.Foreign}
	for i := range groupEffects {
		if of := groupEffects[i].facts; of != nil {
			more := of(t, g, workspace)
			f.Private, f.Untrusted, f.Outward = f.Private || more.Private, f.Untrusted || more.Untrusted, f.Outward || more.Outward
		}
	}
	return f
}

// onlyReads reports whether the tool only reads, because the gate enforces it or
// because the tool promises it. A prompt only reads: a person chooses it.
func (t *Tool) onlyReads() bool { return t.ReadOnly || t.SaysReadOnly || t.Form == FormPrompt }

// sendsOut reports whether the network carries data out. A tool that only reads
// carries none out when it reaches only hosts that the operator listed: its
// requests carry data too, but to hosts of the operator's choice. A tool that
// may reach any public host does carry data out.
func (t *Tool) sendsOut(n *NetworkGrant) bool {
	return len(n.Allow) > 0 && (!t.onlyReads() || slices.ContainsFunc(n.Allow, func(host string) bool {
		return host == "*" || strings.HasPrefix(host, "*:")
	}))
}

// writesOutside reports whether a path of a grant lies outside a folder.
func writesOutside(paths []string, folder string) bool {
	below := strings.TrimSuffix(folder, string(filepath.Separator)) + string(filepath.Separator)
	return slices.ContainsFunc(paths, func(path string) bool {
		return folder == "" || path != folder && !strings.HasPrefix(path, below)
	})
}

// How long facts count, and how exact their times are.
const (
	// SessionFactAge is how long a fact of a session counts. A conversation is
	// not expected to continue after a longer pause.
	SessionFactAge = 30 * 24 * time.Hour
	// PrincipalFactAge is how long a fact of a principal counts for its other
	// sessions, from the last call that caused it. A principal that never
	// pauses for so long never loses the fact.
	PrincipalFactAge = 30 * time.Minute
	// FactStep is the precision of stored times. A fact that is already stored
	// is stored again only after this time, so that few calls write anything.
	FactStep = time.Minute
)

// FactMark is the newest call that caused a fact.
type FactMark struct {
	// Fact is the fact that the call caused.
	Fact Fact `json:"fact"`
	// Session is true when the call was made in the session of the query. False
	// means any session of the principal.
	Session bool `json:"session"`
	// Tool is the ID of the tool.
	Tool string `json:"tool"`
	// CallID is the id under which the call is recorded.
	CallID string `json:"call_id"`
	// Time is when the call began to count, which is before it ran.
	Time time.Time `json:"time"`
}

// Counts reports whether the fact still counts at a point in time.
func (m *FactMark) Counts(now time.Time) bool {
	age := PrincipalFactAge + FactStep
	if m.Session {
		age = SessionFactAge
	}
	return now.Sub(m.Time) < age
}

// FactStore stores the facts of sessions and principals. It must be safe for
// concurrent use, and for use by several processes where they share it. In a
// durable store, acknowledged facts survive the death of the process.
type FactStore interface {
	// Facts returns the newest mark of each fact, for a principal and one of
	// its sessions. With an empty session it returns those of the principal
	// alone. The marks may include some that no longer count.
	Facts(ctx context.Context, principal, session string) ([]FactMark, error)
	// Note stores marks for the principal and, unless it is empty, for the
	// session. It ignores the field Session of the marks. It returns what Facts
	// would have returned before, in one step: of two concurrent calls, one
	// sees the marks of the other.
	Note(ctx context.Context, principal, session string, marks []FactMark) (before []FactMark, err error)
	// Forget removes all facts of a principal and its sessions. It reports
	// whether there were any.
	Forget(ctx context.Context, principal string) (was bool, err error)
}

// FlowAction says what happens to a call to which a flow rule applies.
type FlowAction string

// The actions. The empty action means FlowApprove, except for the local user at
// the command line, who would only ask themselves.
const (
	// FlowAllow lets the call pass.
	FlowAllow FlowAction = "allow"
	// FlowApprove holds the call until a human approves it.
	FlowApprove FlowAction = "approve"
	// FlowRefuse refuses the call.
	FlowRefuse FlowAction = "refuse"
)

// Flow says what happens to calls after the conversation has read certain
// content. The zero value is the default rule.
type Flow struct {
	// AfterUntrustedPrivate applies to calls that reach out or write outside
	// the workspace, once the conversation has read untrusted content and
	// either has read private data or reads it in this call.
	AfterUntrustedPrivate FlowAction
	// Allow lists tools to which AfterUntrustedPrivate does not apply: by name,
	// by label as "@file", by server as "mcp__notes__*", or "*".
	Allow []string
	// Approve lists tools, in the same way, whose calls are held once the
	// conversation has read untrusted content.
	Approve []string
	// Refuse lists tools, in the same way, whose calls are refused once the
	// conversation has read untrusted content.
	Refuse []string
}
