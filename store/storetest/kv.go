package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

func testKV(t *testing.T, open opener) {
	kv := openKV(t, open(t, Options{}), "tool:a")
	wantGet(t, kv, "k", "", false)
	setValue(t, kv, "k", "v", 0)
	wantGet(t, kv, "k", "v", true)
	wantGet(t, kv, "K", "", false)
	setValue(t, kv, "k", "", 0)
	wantGet(t, kv, "k", "", true)
	odd := "nul\x00 bytes \xff\xfe 'quote' \u2028"
	setValue(t, kv, odd, odd, 0)
	wantGet(t, kv, odd, odd, true)
	for range 2 {
		if err := kv.Delete(t.Context(), "k"); err != nil {
			t.Fatalf("Delete(k) = %v, want no error, also for a missing key", err)
		}
		wantGet(t, kv, "k", "", false)
	}
}

func testKVScopes(t *testing.T, open opener) {
	db := open(t, Options{})
	scopes := []string{"tool:usage_counter", "tool:Usage_counter", "session:a/s1", "session:b/s1", "personality:researcher"}
	for i, scope := range scopes {
		setValue(t, openKV(t, db, scope), "k", fmt.Sprint(i), 0)
	}
	for i, scope := range scopes {
		kv := openKV(t, db, scope)
		wantGet(t, kv, "k", fmt.Sprint(i), true)
		keys, err := kv.List(t.Context(), "")
		if err != nil || len(keys) != 1 {
			t.Errorf("%s: List() = %q, %v, want one key: no other scope's", scope, keys, err)
		}
	}
	if err := openKV(t, db, scopes[0]).Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	wantGet(t, openKV(t, db, scopes[1]), "k", "1", true)
	for _, scope := range []string{"", strings.Repeat("x", 10_000)} {
		if _, err := db.KV(t.Context(), scope); err == nil {
			t.Errorf("KV(%.10q) = no error, want one", scope)
		}
	}
}

func testKVExpiry(t *testing.T, open opener) {
	c := newManualClock()
	kv := openKV(t, open(t, Options{Now: c.Now}), "tool:a")
	setValue(t, kv, "short", "v", time.Second)
	setValue(t, kv, "long", "v", 10*time.Second)
	setValue(t, kv, "ever", "v", 0)
	setValue(t, kv, "far", "v", 1<<63-1)
	c.advance(time.Second - time.Nanosecond)
	wantGet(t, kv, "short", "v", true)
	c.advance(time.Nanosecond)
	wantGet(t, kv, "short", "", false)
	wantKeys(t, kv, "", "ever", "far", "long")

	// A new value has a new lifetime, an expired key can be set again.
	setValue(t, kv, "long", "w", 0)
	setValue(t, kv, "short", "w", 0)
	c.advance(1000 * time.Hour)
	wantGet(t, kv, "long", "w", true)
	wantGet(t, kv, "short", "w", true)

	// What expired goes in the end, and nothing else does.
	for i := range 20 {
		setValue(t, kv, fmt.Sprint("temporary", i), "v", time.Second)
	}
	for range 5 {
		c.advance(time.Hour)
		setValue(t, kv, "ever", "v", 0)
	}
	wantKeys(t, kv, "", "ever", "far", "long", "short")
}

func wantKeys(t testing.TB, kv sallyport.KV, prefix string, keys ...string) {
	t.Helper()
	got, err := kv.List(t.Context(), prefix)
	if diff := cmp.Diff(keys, got); diff != "" || err != nil {
		t.Errorf("List(%q) = %v, difference (-want +got):\n%s", prefix, err, diff)
	}
}

func testKVPrefix(t *testing.T, open opener) {
	kv := openKV(t, open(t, Options{}), "tool:a")
	for _, key := range []string{"a%b", "aXb", "a_b", "a*b", "A%b", "a", "b", "a\xff", "a\xff\xff", "a\xffz", "\xff", "\xff\xff", "ä", "a[b]"} {
		setValue(t, kv, key, "v", 0)
	}
	wantKeys(t, kv, "a%", "a%b")
	wantKeys(t, kv, "a_", "a_b")
	wantKeys(t, kv, "a*", "a*b")
	wantKeys(t, kv, "a[", "a[b]")
	wantKeys(t, kv, "A", "A%b")
	wantKeys(t, kv, "a\xff", "a\xff", "a\xffz", "a\xff\xff")
	wantKeys(t, kv, "\xff", "\xff", "\xff\xff")
	wantKeys(t, kv, "none")
	wantKeys(t, kv, "", "A%b", "a", "a%b", "a*b", "aXb", "a[b]", "a_b", "a\xff", "a\xffz", "a\xff\xff", "b", "ä", "\xff", "\xff\xff")
}

func testKVBounds(t *testing.T, open opener) {
	kv := openKV(t, open(t, Options{}), "tool:a")
	key, big := strings.Repeat("k", 512), strings.Repeat("v", 1<<20)
	setValue(t, kv, key, big, 0)
	wantGet(t, kv, key, big, true)
	small := openKV(t, open(t, Options{Limits: store.Limits{KeyBytes: 2, ValueBytes: 3}}), "tool:a")
	setValue(t, small, "kk", "vvv", 0)
	_, _, got := kv.Get(t.Context(), key+"k")
	for what, err := range map[string]error{
		"Set(long key)": kv.Set(t.Context(), key+"k", "v", 0), "Set(long value)": kv.Set(t.Context(), "k", big+"v", 0),
		"Set(negative lifetime)": kv.Set(t.Context(), "k", "v", -1), "Get(long key)": got,
		"Delete(long key)":              kv.Delete(t.Context(), key+"k"),
		"Set beyond a configured bound": small.Set(t.Context(), "kk", "vvvv", 0),
	} {
		if !errors.Is(err, sallyport.ErrInputInvalid) {
			t.Errorf("%s = %v, want input_invalid", what, err)
		}
	}
	wantGet(t, kv, "k", "", false)
	wantGet(t, small, "kk", "vvv", true)
}

func testKVConcurrent(t *testing.T, open opener) {
	db := open(t, Options{})
	const workers, each = 8, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			kv := openKV(t, db, "tool:shared")
			for i := range each {
				key := fmt.Sprintf("%d-%02d", w, i)
				if err := kv.Set(t.Context(), key, key, 0); err != nil {
					t.Errorf("Set(%s) = %v", key, err)
					return
				}
				if got, ok, err := kv.Get(t.Context(), key); got != key || !ok || err != nil {
					t.Errorf("Get(%s) = %q, %v, %v after it was acknowledged", key, got, ok, err)
					return
				}
				if _, err := kv.List(t.Context(), key[:2]); err != nil {
					t.Errorf("List = %v", err)
				}
			}
		})
	}
	wg.Wait()
	keys, err := openKV(t, db, "tool:shared").List(t.Context(), "")
	if err != nil || len(keys) != workers*each {
		t.Errorf("List() = %d keys, %v, want %d", len(keys), err, workers*each)
	}
}

// testKVModel compares the store with a map under random operations.
func testKVModel(t *testing.T, open opener) {
	c := newManualClock()
	db := open(t, Options{Now: c.Now})
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		kv := openKV(t, db, fmt.Sprintf("tool:run%d", run))
		m := kvModel{kv: kv, clock: c, entries: make(map[string]modelEntry)}
		r.Repeat(map[string]func(*rapid.T){
			"set": m.setRandomKey, "get": m.getRandomKey, "delete": m.deleteRandomKey, "list": m.listRandomPrefix, "advance": m.advanceClock,
		})
	})
}

type modelEntry struct {
	value   string
	expires time.Time
}

type kvModel struct {
	kv      sallyport.KV
	clock   *manualClock
	entries map[string]modelEntry
}

// keys are few and alike, so that operations meet.
func anyKey(r *rapid.T, label string) string {
	return rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'A', '%', '_', 0}), 0, 3, -1).Draw(r, label)
}

func (m *kvModel) liveValue(key string) (string, bool) {
	e, ok := m.entries[key]
	if !ok || !e.expires.IsZero() && !m.clock.Now().Before(e.expires) {
		return "", false
	}
	return e.value, true
}

func (m *kvModel) setRandomKey(r *rapid.T) {
	key, value := anyKey(r, "key"), rapid.String().Draw(r, "value")
	ttl := time.Duration(rapid.IntRange(0, 3).Draw(r, "seconds")) * time.Second
	if err := m.kv.Set(r.Context(), key, value, ttl); err != nil {
		r.Fatalf("Set = %v", err)
	}
	e := modelEntry{value: value}
	if ttl > 0 {
		e.expires = m.clock.Now().Add(ttl)
	}
	m.entries[key] = e
}

func (m *kvModel) getRandomKey(r *rapid.T) {
	key := anyKey(r, "key")
	wantValue, wantOK := m.liveValue(key)
	got, ok, err := m.kv.Get(r.Context(), key)
	if got != wantValue || ok != wantOK || err != nil {
		r.Fatalf("Get(%q) = %q, %v, %v, want %q, %v", key, got, ok, err, wantValue, wantOK)
	}
}

func (m *kvModel) deleteRandomKey(r *rapid.T) {
	key := anyKey(r, "key")
	if err := m.kv.Delete(r.Context(), key); err != nil {
		r.Fatalf("Delete(%q) = %v", key, err)
	}
	delete(m.entries, key)
}

func (m *kvModel) listRandomPrefix(r *rapid.T) {
	prefix := anyKey(r, "prefix")
	var keys []string
	for key := range m.entries {
		if _, ok := m.liveValue(key); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	got, err := m.kv.List(r.Context(), prefix)
	if diff := cmp.Diff(keys, got); diff != "" || err != nil {
		r.Fatalf("List(%q): %v, difference (-want +got):\n%s", prefix, err, diff)
	}
}

func (m *kvModel) advanceClock(r *rapid.T) {
	m.clock.advance(time.Duration(rapid.IntRange(1, 2000).Draw(r, "ms")) * time.Millisecond)
}

func openKV(t testing.TB, f sallyport.KVFactory, scope string) sallyport.KV {
	t.Helper()
	kv, err := f.KV(t.Context(), scope)
	if err != nil {
		t.Fatalf("KV(%q) = %v, want no error", scope, err)
	}
	return kv
}

func setValue(t testing.TB, kv sallyport.KV, key, value string, ttl time.Duration) {
	t.Helper()
	if err := kv.Set(t.Context(), key, value, ttl); err != nil {
		t.Fatalf("Set(%q) = %v, want no error", key, err)
	}
}

// wantGet checks a value; absent ones are wanted with ok false.
func wantGet(t testing.TB, kv sallyport.KV, key, value string, ok bool) {
	t.Helper()
	got, have, err := kv.Get(t.Context(), key)
	if err != nil || got != value || have != ok {
		t.Errorf("Get(%q) = %.40q, %v, %v, want %.40q, %v, no error", key, got, have, err, value, ok)
	}
}
