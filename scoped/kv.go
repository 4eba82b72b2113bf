package scoped

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/group"
)

const (
	// maxKeyBytes is the longest key that every store takes: a primary key of
	// the databases behind it has less room than a value.
	maxKeyBytes = 512
	// defaultValueBytes bounds a value unless the store says otherwise.
	defaultValueBytes = 1 << 20
)

// valueLimiter is a sallyport.KVFactory with a bound of its own on values.
type valueLimiter interface {
	// MaxValueBytes returns the largest value in bytes; 0 means 1 MiB.
	MaxValueBytes() int64
}

// kvAccessor is the key-value accessor of a call. It opens the scope's store when
// it is first used.
type kvAccessor struct {
	b *Binding

	mu     sync.Mutex
	opened bool
	kv     sallyport.KV
	err    error
}

func (s *kvAccessor) Get(ctx context.Context, key string) (string, bool, error) {
	kv, err := s.openForKey(ctx, key)
	if err != nil {
		return "", false, err
	}
	value, ok, err := kv.Get(ctx, key)
	if err != nil || !ok {
		return "", false, hideBackendError(err, "the key-value store failed")
	}
	return value, true, nil
}

// Set stores a value in the scope; a lifetime of 0 is the declared default.
func (s *kvAccessor) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if limit := s.b.scope.maxValue; int64(len(value)) > limit {
		return sallyport.InputInvalid(fmt.Sprintf("the value has %d bytes, more than %d", len(value), limit))
	}
	if ttl < 0 {
		return sallyport.InputInvalid("the lifetime of a key is negative")
	}
	if ttl == 0 {
		ttl = s.b.scope.grant.Storage.TTL
	}
	kv, err := s.openForKey(ctx, key)
	if err != nil {
		return err
	}
	return hideBackendError(kv.Set(ctx, key, value, ttl), "the key-value store failed")
}

func (s *kvAccessor) Delete(ctx context.Context, key string) error {
	kv, err := s.openForKey(ctx, key)
	if err != nil {
		return err
	}
	return hideBackendError(kv.Delete(ctx, key), "the key-value store failed")
}

func (s *kvAccessor) List(ctx context.Context, prefix string) ([]string, error) {
	kv, err := s.openStore(ctx)
	if err != nil {
		return nil, err
	}
	if len(prefix) > maxKeyBytes {
		return nil, nil
	}
	keys, err := kv.List(ctx, prefix)
	if err != nil {
		return nil, hideBackendError(err, "the key-value store failed")
	}
	return keys, nil
}

func (s *kvAccessor) openForKey(ctx context.Context, key string) (sallyport.KV, error) {
	switch {
	case key == "":
		return nil, sallyport.InputInvalid("the key is empty")
	case len(key) > maxKeyBytes:
		return nil, sallyport.InputInvalid(fmt.Sprintf("the key has %d bytes, more than %d", len(key), maxKeyBytes))
	}
	return s.openStore(ctx)
}

// openStore opens the store of the scope once.
func (s *kvAccessor) openStore(ctx context.Context) (sallyport.KV, error) {
	if err := s.b.checkLive(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened {
		return s.kv, s.err
	}
	id, err := s.b.scopeID()
	if err != nil {
		return nil, err
	}
	kv, err := s.b.scope.backends.KV.KV(ctx, id)
	if err != nil && ctx.Err() != nil {
		// The caller of this one access gave up; the next may succeed.
		return nil, hideBackendError(err, "the key-value store could not be opened")
	}
	s.opened, s.kv, s.err = true, kv, hideBackendError(err, "the key-value store could not be opened")
	return s.kv, s.err
}

// scopeID returns the id under which the store is kept. The kind in front
// keeps a session from being mistaken for a personality of the same name. An
// empty name is refused, because all that lack one would share a store.
func (b *Binding) scopeID() (string, error) {
	kind, name := "session:", b.session
	switch scope := b.scope.grant.Storage.Scope; scope {
	case sallyport.ScopeToolPrivate:
		kind, name = "tool:", b.scope.tool
	case sallyport.ScopeSession:
	case sallyport.ScopePersonality:
		if b.personality != "" {
			kind, name = "personality:", b.personality
		}
	default:
		return "", notAvailable("", "the storage scope is unknown")
	}
	if name == "" {
		return "", notAvailable("", "the call has no session")
	}
	return kind + name, nil
}

type refusedKV struct{ note func(sallyport.Decision) }

func (k refusedKV) refuseKey() error {
	sendDecision(k.note, newRefusal(group.Storage, ""))
	return notAvailable("", "the tool declares no storage")
}

func (k refusedKV) Get(context.Context, string) (string, bool, error) {
	return "", false, k.refuseKey()
}

func (k refusedKV) Set(context.Context, string, string, time.Duration) error { return k.refuseKey() }

func (k refusedKV) Delete(context.Context, string) error { return k.refuseKey() }

func (k refusedKV) List(context.Context, string) ([]string, error) { return nil, k.refuseKey() }
