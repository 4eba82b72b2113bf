package secretstore

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
)

// Set stores a value in the file, which is replaced as a whole. A new file is
// for its user alone. Two writers at once lose nothing when the options have
// Exclusive.
func (f *File) Set(ctx context.Context, ref string, value sallyport.Secret) error {
	if err := checkNew(ref, value); err != nil {
		return err
	}
	return f.changeValues(ctx, func(values map[string]string) (bool, error) {
		values[ref] = value.Reveal()
		if len(values) > maxSecrets {
			return false, fmt.Errorf("it would hold more than %d secrets", maxSecrets)
		}
		return true, nil
	})
}

// Remove removes a reference from the file.
func (f *File) Remove(ctx context.Context, ref string) (ok bool, err error) {
	if err := reach.CheckRef(ref); err != nil {
		return false, err
	}
	err = f.changeValues(ctx, func(values map[string]string) (bool, error) {
		_, ok = values[ref]
		delete(values, ref)
		return ok, nil
	})
	return ok && err == nil, err
}

// changeValues gives the file other values. edit gets a copy of the present ones and
// returns false when the file may stay as it is.
func (f *File) changeValues(ctx context.Context, edit func(map[string]string) (bool, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	write := func() error {
		if err := f.loadValues(ctx, true); err != nil {
			return err
		}
		values := map[string]string{}
		maps.Copy(values, f.values)
		if changed, err := edit(values); err != nil || !changed {
			return err
		}
		return f.replaceFile(ctx, values)
	}
	if f.o.Exclusive != nil {
		return f.o.Exclusive(write)
	}
	return write()
}

// replaceFile writes the file, sealed as it was, or as a new file.
func (f *File) replaceFile(ctx context.Context, values map[string]string) (err error) {
	how := f.opened
	if f.read == nil {
		if how, err = f.newSeal(ctx); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if how.recipient == nil || how.others {
		return fmt.Errorf("%s is sealed to several recipients, or to one of another kind: change it with age", f.path)
	}
	sealed, err := encryptValues(values, how.recipient)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return fmt.Errorf("%w", err)
	}
	if err := fsx.ReplaceFileMode(f.path, sealed, 0o600); err != nil {
		return fmt.Errorf("%s was left as it was: %w", f.path, err)
	}
	f.opened = how
	return f.loadValues(ctx, false)
}

// newSeal returns what a new file is sealed to.
func (f *File) newSeal(ctx context.Context) (*opening, error) {
	if f.o.Seal == nil {
		return f.newPassphrase(ctx, true)
	}
	ways, err := readIdentities(ctx, f.o.Seal)
	if err == nil && len(ways) == 0 {
		err = ErrNoIdentity
	}
	if err != nil {
		return nil, err
	}
	return ways[0], nil
}
