package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

// KV implements sallyport.KVFactory.
func (s *Store) KV(_ context.Context, scope string) (sallyport.KV, error) {
	if err := s.limits.CheckScope(scope); err != nil {
		return nil, err
	}
	return &kvStore{s, scope}, nil
}

type kvStore struct {
	s     *Store
	scope string
}

func (k *kvStore) Get(ctx context.Context, key string) (value string, ok bool, err error) {
	if err := k.s.limits.CheckKey(key); err != nil {
		return "", false, err
	}
	k.s.mu.RLock()
	defer k.s.mu.RUnlock()
	if k.s.closed {
		return "", false, &store.Error{Reason: store.ErrClosed}
	}
	e, ok := k.s.kv[k.scope][key]
	if !ok || !e.isLive(k.s.now()) {
		return "", false, ctx.Err()
	}
	return e.value, true, ctx.Err()
}

func (k *kvStore) Set(ctx context.Context, key, value string, ttl time.Duration) error {
	if err := k.s.limits.CheckSet(key, value, ttl); err != nil {
		return err
	}
	if err := k.s.lockOpen(ctx); err != nil {
		return err
	}
	defer k.s.mu.Unlock()
	e := kvEntry{value: strings.Clone(value)}
	e.expires, e.mortal = store.Expiry(k.s.now(), ttl)
	if k.s.kv[k.scope] == nil {
		k.s.kv[k.scope] = make(map[string]kvEntry)
	}
	k.s.kv[k.scope][strings.Clone(key)] = e
	return nil
}

func (k *kvStore) Delete(ctx context.Context, key string) error {
	if err := k.s.limits.CheckKey(key); err != nil {
		return err
	}
	if err := k.s.lockOpen(ctx); err != nil {
		return err
	}
	defer k.s.mu.Unlock()
	delete(k.s.kv[k.scope], key)
	return nil
}

func (k *kvStore) List(ctx context.Context, prefix string) ([]string, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.s.closed {
		return nil, &store.Error{Reason: store.ErrClosed}
	}
	now := k.s.now()
	var keys []string
	for key, e := range k.s.kv[k.scope] {
		switch {
		case !e.isLive(now):
			delete(k.s.kv[k.scope], key)
		case strings.HasPrefix(key, prefix):
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, ctx.Err()
}
