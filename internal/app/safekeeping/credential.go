package safekeeping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/app"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/importer"
	"github.com/sallyport/sallyport/internal/ownregistry"
	"github.com/sallyport/sallyport/internal/secretstore"
)

// credentialSetting is the setting with the notes of what imports stored.
const credentialSetting = "import/credentials"

// credentialNote says which value was stored, and for the imports of which clients.
type credentialNote struct {
	// MAC is the keyed digest of the value.
	MAC     string   `json:"mac"`
	Clients []string `json:"clients"`
}

// StoreCredential stores what the settings of this machine send to a package registry,
// as [StoreFound] does.
func StoreCredential(ctx context.Context, env *app.Environment, paths []string, client, registry, address string) (c importer.StoredCredential, err error) {
	ref := ownregistry.SecretRef(registry, address)
	value, ok := env.OwnCredential(registry, address)
	if !ok || ref == "" {
		return c, errors.New("it is not in a form that can be stored")
	}
	return StoreFound(ctx, env, paths, client, ref, value)
}

// StoreFound stores a value that the import of a client found in the first file of
// secrets. The user is asked nothing, and a value that a source has already stays. A
// note in the state lets [RemoveCredentials] take it back.
func StoreFound(ctx context.Context, env *app.Environment, paths []string, client, ref string, value sallyport.Secret) (c importer.StoredCredential, err error) {
	rt, err := openQuietly(ctx, env, paths)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	file, err := FindStore(rt, Choice{Store: "file"})
	if err != nil {
		return c, err
	}
	if c.Source, err = findSource(ctx, rt, file, ref); err != nil {
		return c, errors.New(rt.ExplainSecret(err))
	}
	present := c.Source != ""
	// The note comes first: what is stored without one would never be removed.
	c.Noted, err = editNotes(ctx, rt, func(known app.Notes, notes map[string]*credentialNote) bool {
		n := notes[ref]
		if present && (n == nil || slices.Contains(n.Clients, client)) {
			return false
		}
		if n == nil {
			n = &credentialNote{}
			notes[ref] = n
		}
		if !present {
			n.MAC = known.ComputeMAC(value)
		}
		n.Clients = append(withoutItem(n.Clients, client), client)
		return true
	})
	if err != nil || present {
		return c, err
	}
	stored, err := storeSecret(ctx, rt, file, ref, value)
	c.Source, c.Stored = stored.Source, err == nil
	return c, err
}

// RemoveCredentials removes what [StoreFound] stored for a client alone, unless it
// has another value now. It returns the references. refs bounds them; nil means all.
func RemoveCredentials(ctx context.Context, env *app.Environment, paths []string, client string, refs []string) (removed []string, err error) {
	rt, err := openQuietly(ctx, env, paths)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	if _, err := os.Lstat(rt.InForce().Config.State.Path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no import noted anything
	}
	macs := map[string]string{}
	_, err = editNotes(ctx, rt, func(_ app.Notes, notes map[string]*credentialNote) (changed bool) {
		clear(macs)
		for ref, n := range notes {
			if n == nil || !slices.Contains(n.Clients, client) || refs != nil && !slices.Contains(refs, ref) {
				continue
			}
			changed = true
			if n.Clients = withoutItem(n.Clients, client); len(n.Clients) == 0 {
				macs[ref] = n.MAC
				delete(notes, ref)
			}
		}
		return changed
	})
	for ref, mac := range macs {
		ok, removeErr := removeUnchanged(ctx, rt, ref, mac)
		if err = errors.Join(err, removeErr); ok {
			removed = append(removed, ref)
		}
	}
	slices.Sort(removed)
	return removed, err
}

// dropNote drops what imports noted of a reference, since the user changes it. Without
// a state, or with one that ends with the command, there is no note.
func dropNote(ctx context.Context, rt *app.Runtime, ref string) error {
	if rt.InForce().Config.State.Kind == config.StateMemory {
		return nil
	}
	if _, err := os.Lstat(rt.InForce().Config.State.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := editNotes(ctx, rt, func(_ app.Notes, notes map[string]*credentialNote) bool {
		_, noted := notes[ref]
		delete(notes, ref)
		return noted
	})
	return err
}

// withoutItem returns a list without an item.
func withoutItem(list []string, item string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == item })
}

// removeUnchanged removes a reference from the files whose value has a digest.
func removeUnchanged(ctx context.Context, rt *app.Runtime, ref, mac string) (removed bool, err error) {
	known, err := rt.OpenNotes(ctx)
	if err != nil {
		return false, err
	}
	for _, p := range rt.SecretStores("") {
		value, ok, err := p.Source.Secret(ctx, ref)
		switch {
		case p.Backend.File == "":
		case err != nil:
			return removed, errors.New(rt.ExplainSecret(err))
		case ok && known.ComputeMAC(value) == mac:
			if ok, err = p.Source.(secretstore.Store).Remove(ctx, ref); err != nil || !ok {
				return removed, err
			}
			removed = true
			done := app.ChangeEvent(audit.ActionSecret, ref, "removed from the "+p.Name)
			if err := rt.RecordDone(ctx, done, ""); err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// maxNoteTries bounds how often a change of the notes begins again because another
// command made one at the same time.
const maxNoteTries = 8

// editNotes changes the notes of what imports stored. edit may be called again; it
// returns false when nothing is to be written.
func editNotes(ctx context.Context, rt *app.Runtime, edit func(app.Notes, map[string]*credentialNote) bool) (changed bool, err error) {
	known, err := rt.OpenNotes(ctx)
	if err != nil {
		return false, err
	}
	for range maxNoteTries {
		before, ok, err := known.Get(ctx, credentialSetting)
		if err != nil {
			return false, err
		}
		notes := map[string]*credentialNote{}
		if ok {
			if err := json.Unmarshal([]byte(before), &notes); err != nil {
				return false, fmt.Errorf("the notes of stored credentials: %w", err)
			}
		}
		if !edit(known, notes) {
			return false, nil
		}
		after, err := json.Marshal(notes)
		if err != nil {
			return false, err
		}
		if ok {
			changed, err = known.Swap(ctx, credentialSetting, before, string(after))
		} else {
			_, changed, err = known.PutIfAbsent(ctx, credentialSetting, string(after))
		}
		if err != nil || changed {
			return changed, err
		}
	}
	return false, errors.New("other commands change the notes of stored credentials at the same time: run the command again")
}
