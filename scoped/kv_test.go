package scoped_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

func TestKVScopeIDs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		scope       sallyport.StorageScope
		session     string
		personality string
		want        string
		wantErr     string
	}{
		{name: "tool", scope: sallyport.ScopeToolPrivate, session: "local/s1", personality: "p", want: "tool:tool"},
		{name: "session", scope: sallyport.ScopeSession, session: "local/s1", personality: "p", want: "session:local/s1"},
		{name: "personality", scope: sallyport.ScopePersonality, session: "local/s1", personality: "p", want: "personality:p"},
		{name: "no personality", scope: sallyport.ScopePersonality, session: "local/s1", want: "session:local/s1"},
		{name: "no session", scope: sallyport.ScopeSession, wantErr: "the call has no session"},
		{name: "unknown", scope: "galaxy", session: "local/s1", wantErr: "the storage scope is unknown"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kv := &scopedtest.KV{}
			s := mustScope(t, &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: tt.scope}}, &sallyport.Backends{KV: kv})
			c := newCall()
			c.SessionKey, c.Personality = tt.session, tt.personality
			if _, err := s.Bind(t.Context(), c, scoped.Turn{}, nil); err != nil {
				t.Fatal(err)
			}
			if opened := kv.Opened(); len(opened) != 0 {
				t.Fatalf("Bind opened %q, want nothing before the first use", opened)
			}
			err := c.KV.Set(t.Context(), "k", "v", 0)
			_, _, _ = c.KV.Get(t.Context(), "k")
			if tt.wantErr != "" {
				if err == nil || err.Error() != tt.wantErr || len(kv.Opened()) != 0 {
					t.Errorf("Set = %v after opening %q, want %q", err, kv.Opened(), tt.wantErr)
				}
				return
			}
			if d := cmp.Diff([]string{tt.want}, kv.Opened()); err != nil || d != "" {
				t.Errorf("Set = %v, opened (-want +got):\n%s", err, d)
			}
		})
	}
}

// limited is a factory with a bound of its own.
type limited struct{ store *scopedtest.KV }

func (l limited) KV(ctx context.Context, scope string) (sallyport.KV, error) {
	return l.store.KV(ctx, scope)
}

func (limited) MaxValueBytes() int64 { return 4 }

func TestKVBounds(t *testing.T) {
	t.Parallel()
	storage := &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession}}
	tests := []struct {
		name       string
		kv         sallyport.KVFactory
		key, value string
		ttl        time.Duration
		wantErr    string
	}{
		{name: "longest key", kv: &scopedtest.KV{}, key: strings.Repeat("k", 512), value: "v"},
		{name: "largest value", kv: &scopedtest.KV{}, key: "k", value: strings.Repeat("v", 1<<20)},
		{name: "empty value", kv: &scopedtest.KV{}, key: "k"},
		{name: "empty key", kv: &scopedtest.KV{}, value: "v", wantErr: "the key is empty"},
		{name: "long key", kv: &scopedtest.KV{}, key: strings.Repeat("k", 513), wantErr: "the key has 513 bytes, more than 512"},
		{name: "large value", kv: &scopedtest.KV{}, key: "k", value: strings.Repeat("v", 1<<20+1), wantErr: "the value has 1048577 bytes, more than 1048576"},
		{name: "configured bound", kv: limited{&scopedtest.KV{}}, key: "k", value: "12345", wantErr: "the value has 5 bytes, more than 4"},
		{name: "negative lifetime", kv: &scopedtest.KV{}, key: "k", ttl: -1, wantErr: "the lifetime of a key is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, _, _ := bind(t, storage, &sallyport.Backends{KV: tt.kv})
			err := c.KV.Set(t.Context(), tt.key, tt.value, tt.ttl)
			if tt.wantErr == "" {
				got, ok, getErr := c.KV.Get(t.Context(), tt.key)
				if err != nil || getErr != nil || !ok || got != tt.value {
					t.Errorf("Set = %v, Get = %d bytes, %t, %v, want what was set", err, len(got), ok, getErr)
				}
				return
			}
			if !errors.Is(err, sallyport.ErrInputInvalid) || err.Error() != tt.wantErr {
				t.Errorf("Set = %v, want %q", err, tt.wantErr)
			}
		})
	}
	c, _, _ := bind(t, storage, &sallyport.Backends{KV: &scopedtest.KV{}})
	if _, _, err := c.KV.Get(t.Context(), ""); err == nil {
		t.Error("Get of the empty key = nil error, want a refusal")
	}
	if err := c.KV.Delete(t.Context(), ""); err == nil {
		t.Error("Delete of the empty key = nil error, want a refusal")
	}
	if keys, err := c.KV.List(t.Context(), strings.Repeat("k", 513)); err != nil || len(keys) != 0 {
		t.Errorf("List of a prefix longer than any key = %q, %v, want nothing", keys, err)
	}
}

func TestKVLifetimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession, TTL: time.Second}}
		c, _, _ := bind(t, g, &sallyport.Backends{KV: &scopedtest.KV{}})
		for key, ttl := range map[string]time.Duration{"default": 0, "longer": 10 * time.Second, "shorter": time.Millisecond} {
			if err := c.KV.Set(t.Context(), key, "v", ttl); err != nil {
				t.Fatal(err)
			}
		}
		for _, step := range []struct {
			after time.Duration
			want  []string
		}{
			{after: 0, want: []string{"default", "longer", "shorter"}},
			{after: 500 * time.Millisecond, want: []string{"default", "longer"}},
			{after: time.Second, want: []string{"longer"}},
			{after: 10 * time.Second, want: nil},
		} {
			time.Sleep(step.after)
			if keys, err := c.KV.List(t.Context(), ""); err != nil || !cmp.Equal(keys, step.want) {
				t.Errorf("List %v later = %q, %v, want %q", step.after, keys, err, step.want)
			}
		}
	})
}

// flaky fails once with the error of the context it is given.
type flaky struct {
	store scopedtest.KV
	asked int
}

func (f *flaky) KV(ctx context.Context, scope string) (sallyport.KV, error) {
	f.asked++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return f.store.KV(ctx, scope)
}

func TestACancelledAccessDoesNotCloseTheStore(t *testing.T) {
	t.Parallel()
	kv := &flaky{}
	c, _, _ := bind(t, &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession}}, &sallyport.Backends{KV: kv})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.KV.Set(gone, "k", "v", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Set with a cancelled context = %v, want context.Canceled", err)
	}
	if err := c.KV.Set(t.Context(), "k", "v", 0); err != nil || kv.asked != 2 {
		t.Errorf("Set afterwards = %v after %d openings, want a second opening to succeed", err, kv.asked)
	}
}

// closed is a store that opens and then fails.
type closed struct{ err error }

func (c closed) KV(context.Context, string) (sallyport.KV, error)         { return c, nil }
func (c closed) Get(context.Context, string) (string, bool, error)        { return "half", true, c.err }
func (c closed) Set(context.Context, string, string, time.Duration) error { return c.err }
func (c closed) Delete(context.Context, string) error                     { return c.err }
func (c closed) List(context.Context, string) ([]string, error)           { return []string{"half"}, c.err }

func TestKVFailuresAreHidden(t *testing.T) {
	t.Parallel()
	cause := errors.New("sqlite: disk I/O error at /var/lib/state.db")
	c, _, _ := bind(t, &sallyport.Grant{Storage: &sallyport.StorageGrant{Scope: sallyport.ScopeSession}}, &sallyport.Backends{KV: closed{cause}})
	value, ok, getErr := c.KV.Get(t.Context(), "k")
	keys, listErr := c.KV.List(t.Context(), "k")
	if value != "" || ok || keys != nil {
		t.Errorf("Get = %q, %t, List = %q, want nothing beside an error", value, ok, keys)
	}
	for _, err := range []error{getErr, listErr, c.KV.Set(t.Context(), "k", "v", 0), c.KV.Delete(t.Context(), "k")} {
		if !errors.Is(err, cause) || err.Error() != "the key-value store failed" {
			t.Errorf("error %v, want the cause hidden", err)
		}
	}
}
