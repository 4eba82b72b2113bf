package sallyport

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Fact is a kind of thing that calls do to a conversation. Three of them
// together are how data is stolen through an agent: somebody's text tells it
// to, there is something to steal, and there is a way out.
type Fact string

// The facts.
const (
	// FactPrivate: data of the operator's came into the conversation.
	FactPrivate Fact = "private"
	// FactUntrusted: content that somebody outside controls came into it.
	FactUntrusted Fact = "untrusted"
	// FactOutward: something of it may have left, or was written outside the
	// workspace.
	FactOutward Fact = "outward"
)

// Facts says what a call does to its conversation when it runs.
type Facts struct {
	// Private says that it may bring data of the operator's: files, attachments,
	// databases, stores that outlive the session, hosts that may be within the
	// operator's own network and are only read from, or, from an upstream server, whatever the secrets open that it was
	// given.
	Private bool `json:"private,omitempty"`
	// Untrusted says that it may bring content that somebody outside controls:
	// from the network, or from an upstream server.
	Untrusted bool `json:"untrusted,omitempty"`
	// Outward says that it may carry data out or write outside the workspace.
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

// Facts computes what a call with a grant does, from what it may touch: what
// was declared and not granted counts for nothing. Level is how its children
// are confined, empty when there are none; those that nothing confines do
// everything. Workspace is the absolute folder outside of which writing counts;
// empty means that all of it does.
func (t *Tool) Facts(g *Grant, level Level, workspace string) Facts {
	upstream := t.Server() != ""
	f := Facts{
		Private: len(g.FS.Read) > 0 || g.Database != nil || g.Attachments != nil ||
			g.Storage != nil && g.Storage.Scope != ScopeSession || upstream && len(g.Secrets) > 0 ||
			t.reads() && g.Network.AllowPrivate && len(g.Network.Allow) > 0,
		Untrusted: upstream || len(g.Network.Allow) > 0,
		Outward: g.Mail != nil || g.Database != nil && g.Database.Mode == ModeWrite ||
			t.sends(&g.Network) || !t.reads() && writesOutside(g.FS.Write, workspace),
	}
	if level == LevelNone {
		f = Facts{Private: true, Untrusted: true, Outward: true}
	}
	return f
}

// reads reports whether the tool only reads, by the gate's doing or by what it
// says. A prompt does: a person chooses it.
func (t *Tool) reads() bool { return t.ReadOnly || t.SaysReadOnly || t.Form == FormPrompt }

// sends reports whether the network carries data out. A tool that only reads
// and reaches only hosts that the operator listed does not: a request carries
// data too, but to those whom the operator named. To any public host it does.
func (t *Tool) sends(n *NetworkGrant) bool {
	return len(n.Allow) > 0 && (!t.reads() || slices.ContainsFunc(n.Allow, func(host string) bool {
		return host == "*" || strings.HasPrefix(host, "*:")
	}))
}

// writesOutside reports whether a path of a grant is not below a folder.
func writesOutside(paths []string, folder string) bool {
	below := strings.TrimSuffix(folder, string(filepath.Separator)) + string(filepath.Separator)
	return slices.ContainsFunc(paths, func(path string) bool {
		return folder == "" || path != folder && !strings.HasPrefix(path, below)
	})
}

// How long facts count.
const (
	// SessionFactAge is how long a fact of a session counts: as long as
	// anybody takes a conversation up again.
	SessionFactAge = 30 * 24 * time.Hour
	// PrincipalFactAge is how long a fact of a principal counts for its other
	// sessions after the last call that caused it. A principal who is never
	// idle so long never loses it.
	PrincipalFactAge = 30 * time.Minute
	// FactStep is how exactly times are kept: a fact that is kept already is
	// kept again after that, so that few calls write anything.
	FactStep = time.Minute
	// MaxFactSessions bounds the sessions of one principal whose facts are
	// kept; the one that was quiet longest is forgotten first.
	MaxFactSessions = 1000
)

// FactMark is the newest call that caused a fact.
type FactMark struct {
	// Fact is what it did.
	Fact Fact `json:"fact"`
	// Session says that it was in the session that was asked about; else it
	// was in any session of the principal.
	Session bool `json:"session"`
	// Tool is the ID of the tool, CallID the call as it is recorded.
	Tool string `json:"tool"`
	// CallID is the call as it is recorded.
	CallID string `json:"call_id"`
	// Time is when the call began to count, which is before it ran.
	Time time.Time `json:"time"`
}

// Counts reports whether the fact still holds at a moment.
func (m *FactMark) Counts(now time.Time) bool {
	age := PrincipalFactAge + FactStep
	if m.Session {
		age = SessionFactAge
	}
	return now.Sub(m.Time) < age
}

// FactStore keeps the facts of sessions and principals. It must be safe for
// concurrent use, and by several processes where they share it. What was
// acknowledged survives the death of the process where the store does.
type FactStore interface {
	// Facts returns the newest mark of each fact, of a principal and of one of
	// its sessions; an empty session asks about the principal alone. Marks that
	// do not count any more may be among them.
	Facts(ctx context.Context, principal, session string) ([]FactMark, error)
	// Note keeps marks for the principal and, unless it is empty, the session,
	// whatever their Session says, and returns what Facts would have returned
	// before, in one step: of two calls at once, one sees the other's.
	Note(ctx context.Context, principal, session string, marks []FactMark) (before []FactMark, err error)
	// Forget removes everything that is kept of a principal and its sessions,
	// and reports whether there was anything.
	Forget(ctx context.Context, principal string) (was bool, err error)
}

// FlowAction says what becomes of a call that a rule about facts is about.
type FlowAction string

// The actions. The empty action is FlowApprove, except for the local user at
// the command line: whoever holds the machine would only ask themselves.
const (
	// FlowAllow lets the call pass.
	FlowAllow FlowAction = "allow"
	// FlowApprove holds it until somebody approves it.
	FlowApprove FlowAction = "approve"
	// FlowRefuse refuses it.
	FlowRefuse FlowAction = "refuse"
)

// Flow says what becomes of calls after what a conversation has read. The zero
// value has the default rule.
type Flow struct {
	// AfterUntrustedPrivate is for calls that reach out or write outside the
	// workspace, once untrusted content was read, and private data too or by the
	// call itself.
	AfterUntrustedPrivate FlowAction
	// Allow lists tools that AfterUntrustedPrivate is not about: by name, by
	// label as "@file", by server as "mcp__notes__*", or "*".
	Allow []string
	// Approve lists tools, in the same way, that are held once untrusted content
	// was read.
	Approve []string
	// Refuse lists tools, in the same way, that are refused from then on.
	Refuse []string
}
