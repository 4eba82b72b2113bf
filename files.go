package sallyport

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"io/fs"
	"time"
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

// FSGrant is the resolved file reach of a call. Its paths are absolute and
// clean, and each is the place to which a configured path leads. They are
// opened without following any symbolic link; see [Places].
type FSGrant struct {
	// Read lists what may be read.
	Read []string `json:"read,omitempty"`
	// Write lists what may be written.
	Write []string `json:"write,omitempty"`
	// Names maps absolute paths that are spelled through symbolic links of the
	// operator to the places to which they lead. Such a path is in the
	// configuration, or is the workspace.
	Names map[string]string `json:"names,omitempty"`
	// Mode is direct when empty.
	Mode FSMode `json:"mode,omitempty"`
}

// Reach is the file ceiling of a personality. Its paths are absolute.
type Reach struct {
	// Read lists what may be read.
	Read []string
	// Write lists what may be written.
	Write []string
	// Mode says how writes of child processes reach the disk. With FSOverlay
	// the writes of every tool go to a private layer first. Empty means the
	// mode that the tool declares.
	Mode FSMode
}

// FS is the file accessor: an fs.FS that also writes. A name is absolute or
// relative to the workspace. Errors match ErrPathNotReachable when the grant
// or the floor refuses, fs.ErrNotExist when a reachable file is missing,
// ErrStaleWrite when the content is not what this session read. Only regular
// files are opened. It is safe for concurrent use.
type FS interface {
	fs.ReadFileFS
	fs.ReadDirFS
	fs.StatFS
	FSWriter
}

// FSWriter is the writing half of FS.
type FSWriter interface {
	// WriteFile replaces or creates a file atomically, creating missing
	// parents beneath the grant.
	WriteFile(name string, data []byte) error
	// UpdateFile reads a file, passes the content to edit and replaces it with
	// the result of edit, all under one lock, so that no concurrent update is
	// lost. When edit returns an error, UpdateFile leaves the file unchanged
	// and returns that error.
	UpdateFile(name string, edit func(old []byte) ([]byte, error)) error
	// MkdirAll creates a directory and its missing parents beneath the
	// grant.
	MkdirAll(name string) error
	// Abs returns the absolute, cleaned form of a name. It checks nothing.
	Abs(name string) string
}

// FileBackend configures file reach. The zero value uses the always-deny
// floor for the current user and remembers no reads.
type FileBackend struct {
	// Home is the home directory whose keys and credentials are on the floor;
	// empty means the home directory of the current user.
	Home string
	// Deny lists further absolute paths for the floor: the runtime's own
	// configuration, state, key and audit files. A path covers everything
	// below it and its names with a suffix such as "-wal".
	Deny []string
	// Packages is the absolute folder in which the runtime keeps the packages
	// that it installed; empty means none. Like the paths in Deny, it is on the
	// floor for tools and children alike. A child sees only those packages in
	// it that its grant names as programs.
	Packages string
	// MaxFileBytes bounds a file that is read whole; 0 means 64 MiB.
	MaxFileBytes int64
	// Reads remembers what sessions read; nil disables the stale-write check.
	Reads ReadMemory
}

// ReadMemory remembers what each session read, for the stale-write check. It
// must be safe for concurrent use.
type ReadMemory interface {
	// Remember stores or replaces the record of a file.
	Remember(ctx context.Context, session string, r ReadRecord) error
	// Recall returns the newest record with an equal path or an equal identity;
	// ok is false when the session has not read the file.
	Recall(ctx context.Context, session, path, identity string) (r ReadRecord, ok bool, err error)
}

// ReadRecord is one file as a session last saw it.
type ReadRecord struct {
	// Path is a digest of the absolute path with symbolic links resolved. It
	// reveals no secret that the path may hold.
	Path string
	// Identity is the file's device and inode, in a form that the accessor
	// chooses.
	Identity string
	// Digest is the SHA-256 of the content.
	Digest [sha256.Size]byte
	// Time is when the session read the file.
	Time time.Time
}
