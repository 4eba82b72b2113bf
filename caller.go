package sallyport

import (
	"encoding/json"
	"net/url"
	"slices"
)

// Platform is the surface on which a call arrived.
type Platform string

// The platforms.
const (
	PlatformGo   Platform = "go"
	PlatformCLI  Platform = "cli"
	PlatformMCP  Platform = "mcp"
	PlatformHTTP Platform = "http"
)

// LocalPrincipal is the name of the principal behind the command line.
const LocalPrincipal = "local"

// Principal is the identity that calls: a token, an OIDC subject, or the local
// user. An edge authenticates it, and the gate trusts the edge.
type Principal struct {
	// Name identifies the principal. The gate refuses an empty name.
	Name string
	// Permissions lists what the principal may do.
	Permissions []string
	// Person is true when a human being answers the questions that reach this
	// principal's client, so that the client may show them a held call. False
	// means a program: its client would answer for itself.
	Person bool
	// Task narrows every session of the principal, whatever its sessions are narrowed
	// to beside. Its Words do not count. nil narrows nothing.
	Task *Task
	// Delegation is the id of the call that lets a sub-agent call as this principal, with
	// less than the principal holds; empty for the principal itself. The gate refuses one
	// that it does not know. An edge sets it, and passes it on unchanged.
	Delegation string
	// Personalities lists the roles that the principal may take; nil means any
	// role.
	Personalities []string
	// Revision identifies the reading of a configuration from which the other
	// fields were taken; 0 means that it is unknown. Edges pass it on
	// unchanged.
	Revision uint64
}

// MayTake reports whether the principal may take a role.
func (p *Principal) MayTake(personality string) bool {
	return p.Personalities == nil || slices.Contains(p.Personalities, personality)
}

// Role returns the role of a caller: the requested one, else the fallback when
// the principal may take it, else the principal's first role. It does not check
// the requested role; the gate refuses a role that the principal may not take.
func (p *Principal) Role(asked, fallback string) string {
	if asked != "" {
		return asked
	}
	if p.MayTake(fallback) || len(p.Personalities) == 0 {
		return fallback
	}
	return p.Personalities[0]
}

// Caller is what an edge knows about a turn. An edge leaves the fields that it
// does not know empty and never guesses them. The gate reads the Caller and
// does not keep it.
type Caller struct {
	// Principal is the identity that calls.
	Principal Principal
	// Session is the id of the conversation. It belongs to the principal.
	Session string
	// Personality is the name of the role; empty when there is none, which
	// only a registry without personalities accepts.
	Personality string
	// Platform is the surface.
	Platform Platform
	// Agent and Team identify the agent in a larger deployment.
	Agent, Team string
	// Workspace is the absolute folder to which relative paths are relative.
	Workspace string
	// Turn is the 1-based number of the turn in the session, and Messages the
	// number of the session's messages so far; 0 means unknown.
	Turn, Messages int
	// MemoryScope is the id under which memory tools store what they learn.
	MemoryScope string
	// Task is what the session is opened with, or narrowed to, by this call; nil
	// leaves it as it is. The same task may come with each call.
	Task *Task
	// Exclude lists tools that this surface does not offer: by ID, or by name,
	// which then excludes that name in every form. It takes precedence over
	// everything else.
	Exclude []string
	// Budget is the number of Unicode code points that all values of the batch
	// may have together; 0 means the registry's default.
	Budget int
	// DryRun requests a description of the call in place of the call.
	DryRun bool
	// Asks is true when the edge itself shows a held call to a person. The call
	// then answers approval_required at once and does not wait.
	Asks bool
	// Attachments lists the attachments of the turn.
	Attachments []Attachment
	// Detach answers the caller with a task while the call goes on. A tool
	// requests this by [Call.Detach]. It is nil when this surface or this
	// caller has no tasks. It returns at once, and may be called more than once
	// and from several goroutines.
	Detach func()
	// Input puts a tool's questions to the caller; nil when this surface
	// cannot. The gate asks only the kinds of input that the grant holds.
	Input Input
	// Progress receives progress of every audience, already cleaned; nil drops
	// it. It may be called from several goroutines.
	Progress func(Progress)
}

// Task narrows a session to what a person asked for. A session that was narrowed is
// never widened again: each further task narrows it more.
type Task struct {
	// Words are what the person asked for, in their own words. What they name does
	// not count as untrusted. They count only in the first task of a session, and
	// only when it comes before anything untrusted was read there.
	Words string `json:"words,omitempty"`
	// Tools lists the tools that the session may use: by name, by label as "@file",
	// by server as "mcp__notes__*", or "*". nil means those of the role.
	Tools []string `json:"tools,omitempty"`
	// Arguments holds ceilings over arguments, as [Personality.Arguments] does.
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"`
}

// SessionKey identifies the session of a principal: the same session id from
// another principal is another session. It escapes the name of the principal,
// so that no two pairs have the same key.
func SessionKey(principal, session string) string {
	return url.PathEscape(principal) + "/" + session
}

// Request names a tool and holds its arguments.
type Request struct {
	// ID is the caller's id for this call, which the record repeats. It may be
	// empty.
	ID string
	// Tool is the [Tool.ID] of the tool; for most tools this is the name.
	Tool string
	// Args is the JSON text of the arguments; empty means {}.
	Args json.RawMessage
}
