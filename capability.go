package sallyport

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Capabilities says what a tool touches outside itself. The zero value
// touches nothing. A nil group is not declared; the JSON and YAML spelling is
// that of the field tags. The declaration is data: the gate intersects it
// with the personality and the wired backends for every call.
type Capabilities struct {
	// Network is the hosts the tool may reach.
	Network *NetworkCapability `json:"network,omitempty"`
	// Secrets is the references the tool may read: exact, or "prefix/*" for
	// whole segments.
	Secrets []string `json:"secrets,omitempty"`
	// Storage asks for a key-value store.
	Storage *StorageCapability `json:"storage,omitempty"`
	// FSReach is the paths the tool may read and write.
	FSReach *FSCapability `json:"fs_reach,omitempty"`
	// Process is the binaries the tool may start.
	Process *ProcessCapability `json:"process,omitempty"`
	// Attachments is the kinds of attachment the tool may open.
	Attachments *AttachmentsCapability `json:"attachments,omitempty"`
	// Database is the connections the tool may use.
	Database *DatabaseCapability `json:"database,omitempty"`
	// Mail is the relay and recipients the tool may use.
	Mail *MailCapability `json:"mail,omitempty"`
	// Input is whom the tool may ask behind its caller.
	Input []InputKind `json:"input,omitempty"`
}

// Empty reports whether the tool touches nothing.
func (c Capabilities) Empty() bool {
	return c.Network == nil && len(c.Secrets) == 0 && c.Storage == nil && c.FSReach == nil &&
		c.Process == nil && c.Attachments == nil && c.Database == nil && c.Mail == nil && len(c.Input) == 0
}

// NetworkCapability declares hosts.
type NetworkCapability struct {
	// AllowedHosts lists exact hosts, "*.example.com" for any name below it,
	// or "*" for whatever the personality allows. An entry may name a port;
	// without one, 80 and 443 are meant.
	AllowedHosts []string `json:"allowedHosts"`
}

// StorageScope says who shares a key-value store.
type StorageScope string

// The storage scopes.
const (
	// ScopeToolPrivate is shared by all calls of one tool.
	ScopeToolPrivate StorageScope = "tool-private"
	// ScopeSession is shared by all tools of one session.
	ScopeSession StorageScope = "session"
	// ScopePersonality is shared by all sessions of one personality; without
	// a personality it is the session's.
	ScopePersonality StorageScope = "personality"
)

// Valid reports whether s is one of the scopes.
func (s StorageScope) Valid() bool {
	switch s {
	case ScopeToolPrivate, ScopeSession, ScopePersonality:
		return true
	default:
		return false
	}
}

// StorageCapability declares a key-value store.
type StorageCapability struct {
	// Scope says who shares the store.
	Scope StorageScope `json:"scope"`
	// Kind is always "kv".
	Kind string `json:"kind"`
	// TTLSecondsDefault is the lifetime of an entry whose set gives none, in
	// seconds; 0 means that entries do not expire.
	TTLSecondsDefault int64 `json:"ttlSecondsDefault,omitempty"`
}

// FSMode says how writes of a child process reach the disk.
type FSMode string

// The modes of file reach. The empty mode means direct.
const (
	// FSDirect writes in place.
	FSDirect FSMode = "direct"
	// FSOverlay writes to a private layer that is committed at the end.
	FSOverlay FSMode = "overlay"
)

// FSCapability declares file reach.
type FSCapability struct {
	// Read is what the tool may read. The zero value reads nothing.
	Read PathList `json:"read,omitzero"`
	// Write is what the tool may write. The zero value writes nothing.
	Write PathList `json:"write,omitzero"`
	// Mode is direct when empty.
	Mode FSMode `json:"mode,omitempty"`
}

// PathList is a list of absolute paths (or paths that begin with a variable,
// "${workspace}/docs"), or the word "from-personality". The zero value is the
// empty list.
type PathList struct {
	// FromPersonality defers to the personality's fs_reach; Paths is empty.
	FromPersonality bool
	// Paths is the explicit list.
	Paths []string
}

const fromPersonality = "from-personality"

// FromPersonality is the list that defers to the personality.
func FromPersonality() PathList { return PathList{FromPersonality: true} }

// Paths is an explicit list.
func Paths(paths ...string) PathList { return PathList{Paths: paths} }

// IsZero reports whether the list declares nothing.
func (l PathList) IsZero() bool { return !l.FromPersonality && len(l.Paths) == 0 }

// MarshalJSON writes the word or the list.
func (l PathList) MarshalJSON() ([]byte, error) {
	if l.FromPersonality {
		return json.Marshal(fromPersonality)
	}
	if l.Paths == nil {
		return []byte("[]"), nil
	}
	return json.Marshal(l.Paths)
}

// UnmarshalJSON reads the word or the list and refuses any other word.
func (l *PathList) UnmarshalJSON(data []byte) error {
	word, list, err := wordOrList(data, fromPersonality)
	*l = PathList{FromPersonality: word, Paths: list}
	return err
}

// ProcessCapability declares binaries.
type ProcessCapability struct {
	// AllowedBinaries lists names found on the fixed search path, or "*" for
	// any of them.
	AllowedBinaries []string `json:"allowedBinaries"`
	// ExecFrom lists write reach whose files may also be executed; empty
	// means none.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists absolute paths of files that the operator's
	// configuration names as what runs, such as the script of an interpreter,
	// and of installed packages: folders directly in [FileBackend.Packages].
	// Children may read and execute them whatever the personality's file
	// reach is; the tool itself gains nothing. It has no spelling: code sets
	// it. What the tool may write is refused.
	Programs []string `json:"-"`
}

// AttachmentKind is the kind of a file that a turn brings along.
type AttachmentKind string

// The attachment kinds.
const (
	// KindImage is a picture.
	KindImage AttachmentKind = "image"
	// KindFile is anything else.
	KindFile AttachmentKind = "file"
)

// AttachmentsCapability declares kinds of attachments.
type AttachmentsCapability struct {
	// All is the spelling "*": every kind; Kinds is empty.
	All bool
	// Kinds is the explicit list.
	Kinds []AttachmentKind
}

// MarshalJSON writes {"kinds": "*"} or {"kinds": […]}.
func (a AttachmentsCapability) MarshalJSON() ([]byte, error) {
	if a.All {
		return []byte(`{"kinds":"*"}`), nil
	}
	if a.Kinds == nil {
		return []byte(`{"kinds":[]}`), nil
	}
	return json.Marshal(map[string]any{"kinds": a.Kinds})
}

// UnmarshalJSON reads what MarshalJSON writes and refuses any other key: a
// decoder that refuses unknown keys does not look in here.
func (a *AttachmentsCapability) UnmarshalJSON(data []byte) error {
	var w map[string]json.RawMessage
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	kinds, ok := w["kinds"]
	if !ok || len(w) != 1 {
		return errors.New("expected the key kinds and no other")
	}
	all, list, err := wordOrList(kinds, "*")
	if err != nil {
		return err
	}
	*a = AttachmentsCapability{All: all}
	for _, k := range list {
		a.Kinds = append(a.Kinds, AttachmentKind(k))
	}
	return nil
}

// Has reports whether the declaration covers a kind.
func (a AttachmentsCapability) Has(k AttachmentKind) bool {
	if a.All {
		return true
	}
	for _, have := range a.Kinds {
		if have == k {
			return true
		}
	}
	return false
}

// AccessMode says whether a database is only read.
type AccessMode string

// The access modes. The empty mode means read.
const (
	// ModeRead only reads; the engine enforces it.
	ModeRead AccessMode = "read"
	// ModeWrite may change data.
	ModeWrite AccessMode = "write"
)

// DatabaseCapability declares named connections.
type DatabaseCapability struct {
	// Connections lists names of the operator's configuration.
	Connections []string `json:"connections"`
	// Mode is read when empty.
	Mode AccessMode `json:"mode,omitempty"`
}

// MailCapability declares a relay and recipients.
type MailCapability struct {
	// Relay is a name of the operator's configuration; empty means default.
	Relay string `json:"relay,omitempty"`
	// To lists addresses, or "*@example.com" for a whole domain.
	To []string `json:"to"`
}

// wordOrList decodes either one given word or a list of strings.
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
