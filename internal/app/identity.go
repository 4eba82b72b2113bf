package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/config"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/reach"
	"github.com/sallyport/sallyport/internal/secretstore"
)

// SealKind says what a new file of secrets is sealed to.
type SealKind string

// The kinds.
const (
	// SealFile is an identity in a file of the user.
	SealFile SealKind = "file"
	// SealKeychain is an identity in the system's keychain.
	SealKeychain SealKind = "keychain"
	// SealPassphrase is a passphrase that is asked for on the terminal.
	SealPassphrase SealKind = "passphrase"
)

// identityAccount is the account of the keychain item of [config.IdentityService].
const identityAccount = "identity"

// identityPath returns the file of the user with the identity that opens
// encrypted files.
func (env *Environment) identityPath() string {
	dir, _ := env.Lookup("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Home, ".config")
	}
	return filepath.Join(dir, "sallyport", "identity")
}

// checkIdentityPlace refuses an identity that lies with what it opens, or where
// agents work.
func (rt *Runtime) checkIdentityPlace(path string) error {
	real := resolveLinks(path)
	for what, dir := range map[string]string{"the workspace": resolveLinks(rt.InForce().Config.Workspace), "the folder of the state": rt.OwnFolder()} {
		if reach.Within(dir, real) {
			return fmt.Errorf("the identity %s lies within %s: set XDG_CONFIG_HOME to another folder, or seal the file with --identity keychain or passphrase", path, what)
		}
	}
	return nil
}

// listIdentities are where the identities of the user may be: a file, and an item of
// the keychain.
func (rt *Runtime) listIdentities() []func(context.Context) (string, error) {
	return []func(context.Context) (string, error){rt.readIdentityFile, rt.readIdentityItem}
}

func (rt *Runtime) readIdentityFile(context.Context) (string, error) {
	path := rt.Env.identityPath()
	text, err := secretstore.ReadIdentity(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil {
		err = rt.checkIdentityPlace(path)
	}
	return text, err
}

func (rt *Runtime) readIdentityItem(ctx context.Context) (string, error) {
	item, _, err := rt.Env.keychain(config.IdentityService).Secret(ctx, identityAccount)
	if errors.Is(err, secretstore.ErrNoKeychain) {
		return "", nil
	}
	return item.Reveal(), err
}

// sealFor returns how a new file is sealed. It makes the identity when there is
// none; the caller keeps other processes from doing the same. nil means a
// passphrase.
func (rt *Runtime) sealFor(kind SealKind) func(context.Context) (string, error) {
	switch kind {
	case SealPassphrase:
		return nil
	case SealKeychain:
		return rt.sealByItem
	default:
		return func(ctx context.Context) (string, error) {
			path := rt.Env.identityPath()
			if err := rt.checkIdentityPlace(path); err != nil {
				return "", err
			}
			if err := secretstore.MakeIdentity(path); err != nil {
				return "", err
			}
			return rt.readIdentityFile(ctx)
		}
	}
}

func (rt *Runtime) sealByItem(ctx context.Context) (string, error) {
	ring := rt.Env.keychain(config.IdentityService)
	item, ok, err := ring.Secret(ctx, identityAccount)
	if ok || err != nil {
		return item.Reveal(), err
	}
	text, err := secretstore.NewIdentity()
	if err != nil {
		return "", err
	}
	return text, ring.Set(ctx, identityAccount, sallyport.NewSecret(text))
}

// changeAlone runs a change of the user's secrets while no other process makes
// one. No tool reaches the folder by which they wait for each other.
func (rt *Runtime) changeAlone(change func() error) error {
	dir := filepath.Dir(rt.Env.identityPath())
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return fsx.Exclusive(dir, change)
}
