package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
)

// errNoStore is what a directory of the configuration alone says.
var errNoStore = errors.New("auth: no state is open in which principals are kept")

// Entry is a principal as it is listed.
type Entry struct {
	Record
	// Configured says that the record is the configuration's.
	Configured bool
}

// Entries returns every principal, sorted by name. Those of the state come
// with their hash, which is no secret: the token cannot be made from it.
func (d *Directory) Entries(ctx context.Context) ([]Entry, error) {
	kept, err := d.storedRecords(ctx)
	if err != nil {
		return nil, err
	}
	var all []Entry
	for _, r := range d.static.Load().byName {
		all = append(all, Entry{Record: r.clone(), Configured: true})
	}
	for i := range kept {
		all = append(all, Entry{Record: kept[i]})
	}
	slices.SortFunc(all, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Add makes a principal in the state and returns its token, which is kept
// nowhere. Of r, Name, Expires, Permissions and Personalities are taken.
func (d *Directory) Add(ctx context.Context, r Record) (token string, err error) {
	if d.store == nil {
		return "", errNoStore
	}
	if err := d.checkOwnName(r.Name); err != nil {
		return "", err
	}
	now := d.o.Now()
	if !r.Expires.IsZero() && !now.Before(r.Expires) {
		return "", fmt.Errorf("auth: principal %q: %s is over", r.Name, r.Expires.UTC().Format(time.RFC3339))
	}
	r.Created, r.Rotated, r.Revoked = now, time.Time{}, time.Time{}
	token, r.TokenSHA256 = NewToken()
	if err := r.Check(); err != nil {
		return "", fmt.Errorf("auth: %w", err)
	}
	if err := d.store.Add(ctx, &r); err != nil {
		if errors.Is(err, ErrTaken) {
			return "", fmt.Errorf("auth: there was or is a principal %q: its sessions and records have the name, "+
				"so that it is given once; rotate gives a principal another token: %w", r.Name, err)
		}
		return "", err
	}
	return token, nil
}

// checkOwnName refuses a name that the state may not have.
func (d *Directory) checkOwnName(name string) error {
	switch {
	case name == sallyport.LocalPrincipal:
		return fmt.Errorf("auth: %q is the local user; the configuration says what it holds, under principals.%s", name, name)
	case d.static.Load().byName[name] != nil:
		return fmt.Errorf("auth: principal %q is in the configuration; change it there", name)
	}
	return nil
}

// Rotate gives a principal of the state another token and returns it. The old
// one ends at once. A zero time keeps the expiry as it is.
func (d *Directory) Rotate(ctx context.Context, name string, expires time.Time) (token string, err error) {
	token, hash := NewToken()
	err = d.updateRecord(ctx, name, func(r *Record, now time.Time) error {
		if !r.Revoked.IsZero() {
			return fmt.Errorf("auth: principal %q was revoked at %s", name, r.Revoked.UTC().Format(time.RFC3339))
		}
		if !expires.IsZero() {
			r.Expires = expires
		}
		if !r.Expires.IsZero() && !now.Before(r.Expires) {
			return fmt.Errorf("auth: principal %q expired at %s; give it another expiry", name, r.Expires.UTC().Format(time.RFC3339))
		}
		r.TokenSHA256, r.Rotated = hash, now
		return nil
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// Revoke ends a principal of the state at once and for good. Revoking twice
// keeps the first time.
func (d *Directory) Revoke(ctx context.Context, name string) error {
	return d.updateRecord(ctx, name, func(r *Record, now time.Time) error {
		if r.Revoked.IsZero() {
			// The hash goes: there is nothing left to compare with.
			r.Revoked, r.TokenSHA256 = now, ""
		}
		return nil
	})
}

func (d *Directory) updateRecord(ctx context.Context, name string, change func(r *Record, now time.Time) error) error {
	if d.store == nil {
		return errNoStore
	}
	if err := d.checkOwnName(name); err != nil {
		return err
	}
	err := d.store.Update(ctx, name, func(r *Record) error { return change(r, d.o.Now()) })
	if errors.Is(err, ErrUnknown) {
		return fmt.Errorf("auth: principal %q: %w", name, err)
	}
	return err
}
