package secretstore

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/zalando/go-keyring"
)

var _ Store = (*Keychain)(nil)

// memoryRing is a keychain in memory. wait holds up every answer; fault is the
// answer to everything.
type memoryRing struct {
	mu    sync.Mutex
	items map[string]string
	wait  chan struct{}
	fault error
}

func (r *memoryRing) answer(do func() error) error {
	if r.wait != nil {
		<-r.wait
	}
	if r.fault != nil {
		return r.fault
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return do()
}

func (r *memoryRing) Get(service, account string) (value string, err error) {
	return value, r.answer(func() error {
		var ok bool
		if value, ok = r.items[service+" "+account]; !ok {
			return keyring.ErrNotFound
		}
		return nil
	})
}

func (r *memoryRing) Set(service, account, value string) error {
	return r.answer(func() error {
		if len(value) > 3000 {
			return keyring.ErrSetDataTooBig
		}
		r.items[service+" "+account] = value
		return nil
	})
}

func (r *memoryRing) Delete(service, account string) error {
	return r.answer(func() error {
		if _, ok := r.items[service+" "+account]; !ok {
			return keyring.ErrNotFound
		}
		delete(r.items, service+" "+account)
		return nil
	})
}

func newKeychain(r *memoryRing) *Keychain {
	if r.items == nil {
		r.items = map[string]string{}
	}
	k := NewKeychain("sallyport")
	k.ring, k.reach = r, func() error { return nil }
	return k
}

func TestKeychainHoldsWhatWasSet(t *testing.T) {
	t.Parallel()
	k := newKeychain(&memoryRing{})
	if _, ok, err := k.Secret(t.Context(), "a/b"); ok || err != nil {
		t.Errorf("Secret(a/b) = %t, %v, want neither", ok, err)
	}
	setValue(t, k, "a/b", "first value")
	if got, ok, err := k.Secret(t.Context(), "a/b"); err != nil || !ok || got.Reveal() != "first value" {
		t.Errorf("Secret(a/b) = %q, %t, %v, want the value", got.Reveal(), ok, err)
	}
	if d := cmp.Diff([]string{"first value"}, known(t, k)); d != "" {
		t.Errorf("Known (-want +got):\n%s", d)
	}
	if ok, err := k.Remove(t.Context(), "a/b"); !ok || err != nil {
		t.Errorf("Remove(a/b) = %t, %v, want true", ok, err)
	}
	if ok, err := k.Remove(t.Context(), "a/b"); ok || err != nil {
		t.Errorf("Remove(a/b) again = %t, %v, want false", ok, err)
	}
}

func TestKeychainRefusesValues(t *testing.T) {
	t.Parallel()
	k := newKeychain(&memoryRing{items: map[string]string{"sallyport short": "1234567"}})
	if _, ok, err := k.Secret(t.Context(), "short"); ok || err == nil || strings.Contains(err.Error(), "1234567") {
		t.Errorf("Secret(short) = %t, %v, want a refusal without the value", ok, err)
	}
	large := strings.Repeat("x", 4000)
	if err := k.Set(t.Context(), "large", sallyport.NewSecret(large)); err == nil || !strings.Contains(err.Error(), "takes no value of 4000 bytes") {
		t.Errorf("Set of what the keychain does not take = %v, want a refusal", err)
	}
}

func TestNoKeychain(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	real := NewKeychain("sallyport")
	for name, k := range map[string]*Keychain{"no session": real, "no answer": newKeychain(&memoryRing{fault: errors.New("no such service")})} {
		if name == "no session" && findSession() == nil {
			continue // this system needs no session bus
		}
		for what, err := range map[string]error{
			"Secret": second(k.Secret(t.Context(), "a")), "Set": k.Set(t.Context(), "a", sallyport.NewSecret("some value")), "Remove": last(k.Remove(t.Context(), "a")),
		} {
			if !errors.Is(err, ErrNoKeychain) {
				t.Errorf("%s: %s = %v, want ErrNoKeychain", name, what, err)
			}
		}
		if values, err := k.Known(t.Context()); err != nil || len(values) > 0 {
			t.Errorf("%s: Known = %v, %v, want none", name, values, err)
		}
	}
}

// TestALockedKeychainIsNotWaitedForForEver: a prompt that no user sees must not
// hold up calls.
func TestALockedKeychainIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &memoryRing{items: map[string]string{"sallyport a": "first value"}, wait: make(chan struct{})}
		k := newKeychain(r)
		for range 2 {
			if _, ok, err := k.Secret(t.Context(), "a"); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Secret(a) of a locked keychain = %t, %v, want no answer", ok, err)
			}
		}
		close(r.wait)
		synctest.Wait()
		if got, ok, err := k.Secret(t.Context(), "a"); err != nil || !ok || got.Reveal() != "first value" {
			t.Errorf("Secret(a) when it is unlocked = %q, %t, %v, want the value", got.Reveal(), ok, err)
		}
	})
}
