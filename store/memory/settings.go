package memory

import (
	"context"

	"github.com/sallyport/sallyport/store"
)

// Settings returns the named values of the program itself.
func (s *Store) Settings() *Settings { return &Settings{s} }

// Settings is a table of named values, such as the hash of a token. It is
// safe for concurrent use.
type Settings struct{ s *Store }

// Get returns a value; ok is false when there is none.
func (t *Settings) Get(ctx context.Context, name string) (value string, ok bool, err error) {
	t.s.mu.RLock()
	defer t.s.mu.RUnlock()
	if t.s.closed {
		return "", false, &store.Error{Reason: store.ErrClosed}
	}
	value, ok = t.s.settings[name]
	return value, ok, ctx.Err()
}

// Put stores or replaces a value.
func (t *Settings) Put(ctx context.Context, name, value string) error {
	unlock, err := t.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	t.s.settings[name] = value
	return nil
}

// PutIfAbsent stores a value unless the name has one, which it returns then.
// Of several callers at once, one stores.
func (t *Settings) PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error) {
	unlock, err := t.s.lockOpen(ctx)
	if err != nil {
		return "", false, err
	}
	defer unlock()
	if have, ok := t.s.settings[name]; ok {
		return have, false, nil
	}
	t.s.settings[name] = value
	return "", true, nil
}

// Swap replaces a value when it still is old; swapped is false when it is
// not or there is none.
func (t *Settings) Swap(ctx context.Context, name, old, value string) (swapped bool, err error) {
	unlock, err := t.s.lockOpen(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	if have, ok := t.s.settings[name]; !ok || have != old {
		return false, nil
	}
	t.s.settings[name] = value
	return true, nil
}

// Delete removes a value. A missing name is no error.
func (t *Settings) Delete(ctx context.Context, name string) error {
	unlock, err := t.s.lockOpen(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	delete(t.s.settings, name)
	return nil
}
