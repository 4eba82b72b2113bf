package secretstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// keychainWait bounds one question to the keychain: the user may have to type
// the password that unlocks it.
const keychainWait = 30 * time.Second

// ErrNoKeychain is the error where no keychain answers.
var ErrNoKeychain = errors.New("this session has no keychain")

// ring is a keychain of the system. Its errors match keyring.ErrNotFound for an
// item that is not there.
type ring interface {
	Get(service, account string) (string, error)
	Set(service, account, value string) error
	Delete(service, account string) error
}

// systemRing is the keychain of this machine: that of macOS, the Credential
// Manager of Windows, the Secret Service of a Linux desktop.
type systemRing struct{}

func (systemRing) Get(service, account string) (string, error) { return keyring.Get(service, account) }

func (systemRing) Set(service, account, value string) error {
	return keyring.Set(service, account, value)
}
func (systemRing) Delete(service, account string) error { return keyring.Delete(service, account) }

// Keychain finds secrets in the keychain of the system: the account of an item
// is the reference. It is safe for concurrent use.
type Keychain struct {
	service string
	ring    ring
	reach   func() error
	wait    time.Duration
	turn    chan struct{} // holds a value while a question is being answered

	mu    sync.Mutex
	known []sallyport.Secret
}

// NewKeychain returns the secrets of the keychain items of one service. It asks
// nothing.
func NewKeychain(service string) *Keychain {
	return &Keychain{service: service, ring: systemRing{}, reach: findSession, wait: keychainWait, turn: make(chan struct{}, 1)}
}

// Secret returns the value of an item. The user may be asked to unlock the
// keychain. Where none answers within 30 seconds, the error matches
// [ErrNoKeychain] or context.DeadlineExceeded.
func (k *Keychain) Secret(ctx context.Context, ref string) (sallyport.Secret, bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return sallyport.Secret{}, false, err
	}
	var value string
	err := k.askKeychain(ctx, func() (err error) {
		value, err = k.ring.Get(k.service, ref)
		return err
	})
	switch {
	case errors.Is(err, keyring.ErrNotFound):
		return sallyport.Secret{}, false, nil
	case err != nil:
		return sallyport.Secret{}, false, fmt.Errorf("secret %s: %w", ref, err)
	}
	if err := checkValue(ref, value); err != nil {
		return sallyport.Secret{}, false, err
	}
	s := sallyport.NewSecret(value)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Contains(k.known, s) {
		k.known = append(slices.Clip(k.known), s)
	}
	return s, true, nil
}

// Known returns the values that were asked for: a keychain is not searched
// beforehand, since that may ask the user to unlock it.
func (k *Keychain) Known(context.Context) ([]sallyport.Secret, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known, nil
}

// Set stores an item.
func (k *Keychain) Set(ctx context.Context, ref string, value sallyport.Secret) error {
	if err := checkNew(ref, value); err != nil {
		return err
	}
	err := k.askKeychain(ctx, func() error { return k.ring.Set(k.service, ref, value.Reveal()) })
	if errors.Is(err, keyring.ErrSetDataTooBig) {
		return fmt.Errorf("secret %s: the keychain of this system takes no value of %d bytes: use a file", ref, len(value.Reveal()))
	}
	return err
}

// Remove removes an item.
func (k *Keychain) Remove(ctx context.Context, ref string) (bool, error) {
	if err := reach.CheckRef(ref); err != nil {
		return false, err
	}
	err := k.askKeychain(ctx, func() error { return k.ring.Delete(k.service, ref) })
	if errors.Is(err, keyring.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// askKeychain asks the keychain one question at a time. A question that is not answered
// cannot be taken back: it goes on alone, and the next ones wait for it no
// longer than this one did.
func (k *Keychain) askKeychain(ctx context.Context, question func() error) error {
	if err := k.reach(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, k.wait)
	defer cancel()
	unanswered := fmt.Errorf("the keychain did not answer within %s: is it waiting to be unlocked? %w", k.wait, context.DeadlineExceeded)
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return unanswered
	}
	done := make(chan error, 1)
	go func() {
		done <- question()
		<-k.turn
	}()
	select {
	case err := <-done:
		if err == nil || errors.Is(err, keyring.ErrNotFound) || errors.Is(err, keyring.ErrSetDataTooBig) {
			return err
		}
		return fmt.Errorf("%w: %w", ErrNoKeychain, err)
	case <-ctx.Done():
		return unanswered
	}
}

// findSession refuses a session that cannot have a Secret Service. Without this
// check the library would start a session bus of its own, in which nothing
// answers.
func findSession() error {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" || os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: it has no session bus (DBUS_SESSION_BUS_ADDRESS), as a desktop with GNOME Keyring or KWallet has; use a file", ErrNoKeychain)
}
