package sallyport

import (
	"context"
	"time"
)

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

// StorageGrant is the resolved store of a tool.
type StorageGrant struct {
	// Scope says which calls share the store.
	Scope StorageScope `json:"scope"`
	// TTL is the default lifetime of an entry; 0 means that entries do not
	// expire.
	TTL time.Duration `json:"ttl,omitempty"`
}

// KV is a key-value store that is already scoped: keys need no prefix.
// Acknowledged writes survive a crash of the process. It is safe for concurrent
// use.
type KV interface {
	// Get returns a value; ok is false when the key is absent or expired.
	Get(ctx context.Context, key string) (value string, ok bool, err error)
	// Set stores a value. A ttl of 0 means the declared default, a positive ttl
	// replaces the default, and a negative one is an error. A key has at most
	// 512 bytes, a value 1 MiB unless the operator configured another bound.
	Set(ctx context.Context, key, value string, ttl time.Duration) error
	// Delete removes a key. A missing key is no error.
	Delete(ctx context.Context, key string) error
	// List returns the sorted names of the live keys that begin with prefix,
	// compared case-sensitively.
	List(ctx context.Context, prefix string) ([]string, error)
}

// KVFactory opens the store of a scope: "tool:<tool>", "session:<session>"
// or "personality:<personality>". It must be safe for concurrent use.
type KVFactory interface {
	KV(ctx context.Context, scope string) (KV, error)
}
