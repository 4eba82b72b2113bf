package sallyport

import (
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/netip"
	"time"
)

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

// Personalities finds a personality by name; ok is false when there is none.
// The result never changes afterwards: a reload returns another pointer. It
// must be safe for concurrent use.
type Personalities interface {
	Personality(name string) (p *Personality, ok bool)
}

// NetworkBackend configures how hosts are reached. The zero value uses the
// system's resolver and dialer with the default bounds.
type NetworkBackend struct {
	// Resolve looks up the addresses of a canonical host; nil means the
	// system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that the floor has accepted; nil means the
	// system's dialer. It must dial exactly this address.
	Dial func(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error)
	// MaxResponseBytes bounds a response body after decompression; 0 means
	// 64 MiB.
	MaxResponseBytes int64
	// Timeout bounds a whole exchange including redirects and the body; 0
	// means 100 seconds.
	Timeout time.Duration
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

// SecretSource finds secret values. It must be safe for concurrent use.
type SecretSource interface {
	// Secret returns the value of a reference; ok is false when this source
	// does not have it.
	Secret(ctx context.Context, ref string) (s Secret, ok bool, err error)
	// Known returns every value that the source can return at present, so that
	// the gate removes them all from results.
	Known(ctx context.Context) ([]Secret, error)
}

// KVFactory opens the store of a scope: "tool:<tool>", "session:<session>"
// or "personality:<personality>". It must be safe for concurrent use.
type KVFactory interface {
	KV(ctx context.Context, scope string) (KV, error)
}

// DatabaseBackend runs queries on named connections. It must be safe for
// concurrent use.
type DatabaseBackend interface {
	Query(ctx context.Context, connection string, mode AccessMode, query string, args []any) (Table, error)
}

// MailBackend hands messages to named relays. It must be safe for concurrent
// use.
type MailBackend interface {
	Send(ctx context.Context, relay string, m Message) error
}

// TargetNamer is implemented by a [DatabaseBackend] or [MailBackend] that can
// say what one of its names stands for. A held call shows that target and is
// bound to it, so that an approval for one server does not count for another
// server that has got its name.
type TargetNamer interface {
	// Target returns what a name stands for at this moment, on one line for
	// people and without credentials: engine, server, database and account, or
	// relay and sender. An error means that the target is not known; its text
	// is not shown.
	Target(ctx context.Context, name string) (string, error)
}

// AttachmentStore opens attachments that an edge has put into it. It must be
// safe for concurrent use.
type AttachmentStore interface {
	Open(ctx context.Context, ref string) (io.ReadCloser, error)
}
