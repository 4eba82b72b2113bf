// Package setting changes named values that several processes share, each change on top
// of what the others wrote.
package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
)

// Store stores named values. Of several changes at once, in any number of processes, at
// most one takes effect; see store.Settings.
type Store interface {
	// Get returns a value; ok is false when the name has none.
	Get(ctx context.Context, name string) (value string, ok bool, err error)
	// PutIfAbsent stores a value unless the name has one.
	PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error)
	// Swap replaces a value if it still is old.
	Swap(ctx context.Context, name, old, value string) (swapped bool, err error)
}

// maxTries bounds how often a change is tried again because another one came before it.
const maxTries = 200

// ErrBusy: other changes came first each time.
var ErrBusy = errors.New("too many changes at once")

// Change replaces a value by what do makes of it. The value is empty, and ok false, when
// the name has none. What do leaves as it is, is not written. An error of do changes
// nothing. Do may be called again, when another change came first.
func Change(ctx context.Context, s Store, name string, do func(was string, ok bool) (string, error)) error {
	for range maxTries {
		was, ok, err := s.Get(ctx, name)
		if err != nil {
			return err
		}
		next, err := do(was, ok)
		if err != nil || next == was {
			return err
		}
		stored := false
		if ok {
			stored, err = s.Swap(ctx, name, was, next)
		} else {
			_, stored, err = s.PutIfAbsent(ctx, name, next)
		}
		if stored || err != nil {
			return err
		}
	}
	return ErrBusy
}

// Decode reads a value as JSON. A field that this program does not know may be a bound,
// and is an error.
func Decode(text string, into any) error {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
