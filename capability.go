package sallyport

import (
	"encoding/json"
	"errors"
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
	return c.Network == nil && len(c.Secrets) == 0 && c.Storage == nil && c.FSReach == nil &&
		c.Process == nil && c.Attachments == nil && c.Database == nil && c.Mail == nil && len(c.Input) == 0
}

// NetworkCapability declares hosts.
type NetworkCapability struct {
	// AllowedHosts lists exact hosts, "*.example.com" for any name below it, or
	// "*" for every host that the personality allows. An entry may name a port;
	// without one it means the ports 80 and 443.
	AllowedHosts []string `json:"allowedHosts"`
}

// StorageScope says which calls share a key-value store.
type StorageScope string

// The storage scopes.
const (
	// ScopeToolPrivate is shared by all calls of one tool.
	ScopeToolPrivate StorageScope = "tool-private"
	// ScopeSession is shared by all tools of one session.
	ScopeSession StorageScope = "session"
	// ScopePersonality is shared by all sessions of one personality. Without a
	// personality it is the same as ScopeSession.
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
	// Scope says which calls share the store.
	Scope StorageScope `json:"scope"`
	// Kind is always "kv".
	Kind string `json:"kind"`
	// TTLSecondsDefault is the lifetime in seconds of an entry that is set
	// without one; 0 means that entries do not expire.
	TTLSecondsDefault int64 `json:"ttlSecondsDefault,omitempty"`
}

// FSMode says how writes of a child process reach the disk.
type FSMode string

// The modes of file reach. The empty mode means direct.
const (
	// FSDirect writes in place.
	FSDirect FSMode = "direct"
	// FSOverlay writes to a private layer that is committed when the child
	// ends.
	FSOverlay FSMode = "overlay"
)

// FSCapability declares file reach.
type FSCapability struct {
	// Read lists what the tool may read. The zero value reads nothing.
	Read PathList `json:"read,omitzero"`
	// Write lists what the tool may write. The zero value writes nothing.
	Write PathList `json:"write,omitzero"`
	// Mode is direct when empty.
	Mode FSMode `json:"mode,omitempty"`
}

// PathList is a list of absolute paths, or the word "from-personality". A path
// may also begin with a variable, as in "${workspace}/docs". The zero value is
// the empty list.
type PathList struct {
	// FromPersonality means the personality's fs_reach; Paths is then empty.
	FromPersonality bool
	// Paths is the explicit list.
	Paths []string
}

const fromPersonality = "from-personality"

// FromPersonality returns the list that defers to the personality.
func FromPersonality() PathList { return PathList{FromPersonality: true} }

// Paths returns an explicit list.
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
	// AllowedBinaries lists names on the fixed search path, or "*" for any of
	// them.
	AllowedBinaries []string `json:"allowedBinaries"`
	// ExecFrom lists writable paths whose files may also be executed; empty
	// means none.
	ExecFrom []string `json:"execFrom,omitempty"`
	// Programs lists absolute paths that children may read and execute in
	// addition to the personality's file reach: files that the operator's
	// configuration names as what runs, such as the script of an interpreter,
	// and installed packages, which are folders directly in
	// [FileBackend.Packages]. The tool itself gains nothing. The field has no
	// spelling: code sets it. A path that the tool may write is refused.
	Programs []string `json:"-"`
}

// AttachmentKind is the kind of a file that is attached to a turn.
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
	// All means every kind, spelled "*"; Kinds is then empty.
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
// decoder that refuses unknown keys does not check them inside this type.
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

// AccessMode says whether a database is only read or also written.
type AccessMode string

// The access modes. The empty mode means read.
const (
	// ModeRead allows reading only; the database engine enforces it.
	ModeRead AccessMode = "read"
	// ModeWrite allows changes of data.
	ModeWrite AccessMode = "write"
)

// DatabaseCapability declares named connections.
type DatabaseCapability struct {
	// Connections lists connection names of the operator's configuration.
	Connections []string `json:"connections"`
	// Mode is read when empty.
	Mode AccessMode `json:"mode,omitempty"`
}

// MailCapability declares a relay and recipients.
type MailCapability struct {
	// Relay is the name of a relay in the operator's configuration; empty means
	// default.
	Relay string `json:"relay,omitempty"`
	// To lists addresses, or "*@example.com" for a whole domain.
	To []string `json:"to"`
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
