package memory

import (
	"context"

	"github.com/sallyport/sallyport/store"
)

// Settings returns the named values of the program itself.
func (s *Store) Settings() store.Settings { return settingStore{s} }

type settingStore struct{ s *Store }

func (t settingStore) Get(ctx context.Context, name string) (value string, ok bool, err error) {
	t.s.mu.RLock()
	defer t.s.mu.RUnlock()
	if t.s.closed {
		return "", false, &store.Error{Reason: store.ErrClosed}
	}
	value, ok = t.s.settings[name]
	return value, ok, ctx.Err()
}

func (t settingStore) Put(ctx context.Context, name, value string) error {
	if err := t.s.lockOpen(ctx); err != nil {
		return err
	}
	defer t.s.mu.Unlock()
	t.s.settings[name] = value
	return nil
}

func (t settingStore) PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error) {
	if err := t.s.lockOpen(ctx); err != nil {
		return "", false, err
	}
	defer t.s.mu.Unlock()
	if have, ok := t.s.settings[name]; ok {
		return have, false, nil
	}
	t.s.settings[name] = value
	return "", true, nil
}

func (t settingStore) Swap(ctx context.Context, name, old, value string) (swapped bool, err error) {
	if err := t.s.lockOpen(ctx); err != nil {
		return false, err
	}
	defer t.s.mu.Unlock()
	if have, ok := t.s.settings[name]; !ok || have != old {
		return false, nil
	}
	t.s.settings[name] = value
	return true, nil
}

func (t settingStore) Delete(ctx context.Context, name string) error {
	if err := t.s.lockOpen(ctx); err != nil {
		return err
	}
	defer t.s.mu.Unlock()
	delete(t.s.settings, name)
	return nil
}
