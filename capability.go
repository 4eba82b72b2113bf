package sallyport

import (
	"encoding/json"
	"fmt"
)

// Capabilities declares what a tool touches outside itself. The zero value
// touches nothing. A nil group is not declared. The field tags give the
// spelling in JSON and YAML. The declaration is data: for every call the gate
// intersects it with the personality and the connected backends.
type Capabilities struct {
	// Network declares the hosts that the tool may reach.
	Network *NetworkCapability `json:"network,omitempty"`
	// Secrets lists the references that the tool may read: exact ones, or
	// "prefix/*" for whole segments.
	Secrets []string `json:"secrets,omitempty"`
	// Storage asks for a key-value store.
	Storage *StorageCapability `json:"storage,omitempty"`
	// FSReach declares the paths that the tool may read and write.
	FSReach *FSCapability `json:"fs_reach,omitempty"`
	// Process declares the binaries that the tool may start.
	Process *ProcessCapability `json:"process,omitempty"`
	// Attachments declares the kinds of attachment that the tool may open.
	Attachments *AttachmentsCapability `json:"attachments,omitempty"`
	// Database declares the connections that the tool may use.
	Database *DatabaseCapability `json:"database,omitempty"`
	// Mail declares the relay and the recipients that the tool may use.
	Mail *MailCapability `json:"mail,omitempty"`
	// Input lists what the tool may ask behind its caller: the person, the
	// model, or the list of folders.
	Input []InputKind `json:"input,omitempty"`
}

// Empty reports whether the tool touches nothing.
func (c Capabilities) Empty() bool {
	for i := range groupEffects {
		if groupEffects[i].declared(&c) {
			return false
		}
	}
	return true
}

// An effect says how far a declared group changes things outside the process.
type effect int

const (
	changesNothing effect = iota
	changesOwn            // changes the tool's own store, or adds something elsewhere
	changesOthers         // may overwrite or remove what exists beyond that
)

// groupEffects says of each capability group what its declaration and its grant
// mean for what a call may do. A nil function means nothing.
var groupEffects = [...]struct {
	declared  func(c *Capabilities) bool
	effect    func(t *Tool) effect
	openWorld bool // reaches systems that the operator does not run
	facts     func(t *Tool, g *Grant, workspace string) Facts
}{
	{
		declared: func(c *Capabilities) bool { return c.Network != nil }, openWorld: true,
		effect: func(t *Tool) effect { return othersIf(!t.ReadOnly) },
		facts: func(t *Tool, g *Grant, _ string) Facts {
			n, reaches := &g.Network, len(g.Network.Allow) > 0
			return Facts{Private: reaches && (n.AllowPrivate || len(n.Private) > 0) && t.onlyReads(), Untrusted: reaches, Outward: t.sendsOut(n)}
		},
	},
	{
		declared: func(c *Capabilities) bool { return len(c.Secrets) > 0 },
		facts: func(t *Tool, g *Grant, _ string) Facts {
			return Facts{Private: t.Server() != "" && len(g.Secrets) > 0}
		},
	},
	{
		declared: func(c *Capabilities) bool { return c.Storage != nil },
		effect:   func(*Tool) effect { return changesOwn },
		facts: func(_ *Tool, g *Grant, _ string) Facts {
			return Facts{Private: g.Storage != nil && g.Storage.Scope != ScopeSession}
		},
	},
	{
		declared: func(c *Capabilities) bool { return c.FSReach != nil },
		effect:   func(t *Tool) effect { return othersIf(!t.Capabilities.FSReach.Write.IsZero()) },
		facts: func(t *Tool, g *Grant, workspace string) Facts {
			return Facts{Private: len(g.FS.Read) > 0, Outward: !t.onlyReads() && writesOutside(g.FS.Write, workspace)}
		},
	},
	{
		declared: func(c *Capabilities) bool { return c.Process != nil }, openWorld: true,
		effect: func(*Tool) effect { return changesOthers },
	},
	{
		declared: func(c *Capabilities) bool { return c.Attachments != nil },
		facts:    func(_ *Tool, g *Grant, _ string) Facts { return Facts{Private: g.Attachments != nil} },
	},
	{
		declared: func(c *Capabilities) bool { return c.Database != nil },
		effect:   func(t *Tool) effect { return othersIf(t.Capabilities.Database.Mode == ModeWrite) },
		facts: func(_ *Tool, g *Grant, _ string) Facts {
			return Facts{Private: g.Database != nil, Outward: g.Database != nil && g.Database.Mode == ModeWrite}
		},
	},
	{
		declared: func(c *Capabilities) bool { return c.Mail != nil }, openWorld: true,
		effect: func(*Tool) effect { return changesOwn },
		facts:  func(_ *Tool, g *Grant, _ string) Facts { return Facts{Outward: g.Mail != nil} },
	},
	{
		declared: func(c *Capabilities) bool { return len(c.Input) > 0 },
	},
}

func othersIf(changes bool) effect {
	if changes {
		return changesOthers
	}
	return changesNothing
}

// strongestEffect returns the strongest effect of the declared groups.
func (t *Tool) strongestEffect() (strongest effect) {
	for i := range groupEffects {
		if g := &groupEffects[i]; g.effect != nil && g.declared(&t.Capabilities) {
			strongest = max(strongest, g.effect(t))
		}
	}
	return strongest
}

// Grant is declaration ∩ personality ∩ connected backends, for one tool under
// one personality: the most that a call may touch. Its lists are in canonical
// form and sorted. It is immutable once computed.
type Grant struct {
	// Network is the network policy with the hosts that may be reached.
	Network NetworkGrant `json:"network,omitzero"`
	// Secrets lists the references and "prefix/*" patterns that may be read.
	Secrets []string `json:"secrets,omitempty"`
	// Storage is the store; nil when there is none.
	Storage *StorageGrant `json:"storage,omitempty"`
	// FS is the paths that may be read and written.
	FS FSGrant `json:"fs_reach,omitzero"`
	// Process is the binaries that may be started.
	Process ProcessGrant `json:"process,omitzero"`
	// Attachments is the kinds that may be opened; nil when there are none.
	Attachments *AttachmentsCapability `json:"attachments,omitempty"`
	// Database is the connections that may be used; nil when there are none.
	Database *DatabaseCapability `json:"database,omitempty"`
	// Mail is the relay that may be used; nil when there is none.
	Mail *MailCapability `json:"mail,omitempty"`
	// Input lists what the call may ask behind its caller.
	Input []InputKind `json:"input,omitempty"`
	// Dropped lists what was declared and not granted, with the reasons.
	Dropped []Dropped `json:"dropped,omitempty"`
}

// Dropped is one declared item that the grant does not hold.
type Dropped struct {
	// Capability names the group: network, fs_reach.read, secrets, …
	Capability string `json:"capability"`
	// Item is the declared item.
	Item string `json:"item"`
	// Why is the reason, for the operator.
	Why string `json:"why"`
	// Source is the rule's place as file:line:column; it may be empty.
	Source string `json:"source,omitempty"`
	// Fix is the smallest change that would grant the item.
	Fix string `json:"fix,omitempty"`
	// Linked is true when the item is granted, but what is on the disk prevents
	// its use at this moment: a symbolic link on its path, or a missing folder.
	Linked bool `json:"linked,omitempty"`
}

// Backends holds what the operator connected, given once when the gate is
// built. A nil field means that the backend is missing: a tool that declares
// its capability answers not_available and never runs. Each backend is asked at
// most once per call.
type Backends struct {
	// Personalities finds the ceiling of a role. nil means that there are no
	// roles, and declarations stand on their own.
	Personalities Personalities
	// Places decides where granted paths lead. With nil the registry decides,
	// from the tools and roles that it has seen.
	Places Places
	// Network reaches hosts.
	Network *NetworkBackend
	// Files reaches the file system of this machine.
	Files *FileBackend
	// Secrets finds secret values.
	Secrets SecretSource
	// KV opens key-value stores.
	KV KVFactory
	// Process starts confined children.
	Process ProcessRunner
	// Databases runs queries.
	Databases DatabaseBackend
	// Mail hands messages to relays.
	Mail MailBackend
	// Attachments opens the attachments of a turn.
	Attachments AttachmentStore
}

// Call is what a tool receives: the facts of the call and the accessors of its
// grant. An accessor that was not granted is never nil: it refuses each use,
// with the reason. A Call is valid until Run returns; a tool must not keep it.
type Call struct {
	// ID is the id under which the call is recorded.
	ID string
	// ToolCallID is the caller's own id; it may be empty.
	ToolCallID string
	// Tool is the ID under which the tool was called.
	Tool string
	// Args holds the arguments, validated and with defaults filled in. It is
	// read only.
	Args json.RawMessage
	// Checked is true when Args was decoded strictly and satisfies the tool's
	// schema. The gate sets it; when it is false, a typed tool checks again.
	Checked bool
	// Session is the caller's session id. SessionKey is unique over all
	// principals.
	Session, SessionKey string
	// Principal is the identity that calls.
	Principal Principal
	// Personality is the name of the role; it may be empty.
	Personality string
	// Platform is the surface.
	Platform Platform
	// Agent and Team identify the agent in a larger deployment.
	Agent, Team string
	// Workspace is the absolute folder to which relative paths are relative.
	Workspace string
	// Turn and Messages are those of [Caller]; 0 means unknown.
	Turn, Messages int
	// MemoryScope is the id under which memory tools store what they learn.
	MemoryScope string
	// Tainted is true when untrusted content was read in the session before this
	// call, or when that is not known: what the caller says may come out of it. A
	// tool that keeps texts for other sessions keeps this with them.
	Tainted bool
	// ResultBudget is the number of Unicode code points after which the gate
	// cuts the value.
	ResultBudget int
	// DryRun is true when the call is only described. The gate does not call
	// Run then; the field is for code that a tool shares with a preview.
	DryRun bool
	// NetworkPolicy is the granted network policy, for display only.
	NetworkPolicy NetworkGrant
	// Emit reports progress. It is never nil.
	Emit func(Progress)
	// Detach says that the caller need not wait any longer: it gets a task and
	// asks for the result later, while the run goes on. Detach has no effect
	// where there are no tasks, when too many tasks are stored, and for a tool
	// without [Tool.Tasks]. It is never nil and returns at once. It does not
	// change the timeout of the tool.
	Detach func()
	// Outlive announces something that goes on after the call, such as a
	// connection that is kept. Set shared when it serves other principals too.
	// The gate calls end on a goroutine of its own when the caller may no
	// longer use it: the principal is revoked or stopped, or its grant has lost
	// it. The tool calls over when it has ended. Children that [Process] starts
	// are tracked without it. It is nil outside the gate.
	Outlive func(what string, shared bool, end func(why error)) (over func())

	// Network is the way to hosts.
	Network Network
	// FS is the way to files.
	FS FS
	// Secrets is the way to secret values.
	Secrets Secrets
	// KV is the key-value store of the declared scope.
	KV KV
	// Process is the way to child processes.
	Process Process
	// Attachments gives access to the attachments of the turn, filtered by
	// kind.
	Attachments Attachments
	// Databases is the way to the operator's database connections.
	Databases Databases
	// Mail is the way to the operator's mail relay.
	Mail Mail
	// Input puts questions to the caller.
	Input Input
}

// wordOrList decodes either the given word or a list of strings.
func wordOrList(data []byte, word string) (isWord bool, list []string, err error) {
	var s string
	if json.Unmarshal(data, &s) == nil {
		if s != word {
			return false, nil, fmt.Errorf("%q: expected a list or the word %q", s, word)
		}
		return true, nil, nil
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return false, nil, fmt.Errorf("expected a list or the word %q: %w", word, err)
	}
	return false, list, nil
}
