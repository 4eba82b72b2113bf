// Package storetest is the suite that every state backend passes.
//
// A backend's test calls [Run] with a function that opens an empty store.
package storetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/store"
)

// Backend is what a store implements.
type Backend interface {
	audit.Store
	audit.Pruner
	sallyport.KVFactory
	sallyport.ReadMemory
}

// Settings is the table of named values of a store. All methods are safe for
// concurrent use and fail with the errors of package store.
type Settings interface {
	// Get returns a value; ok is false when there is none.
	Get(ctx context.Context, name string) (value string, ok bool, err error)
	// Put stores or replaces a value.
	Put(ctx context.Context, name, value string) error
	// PutIfAbsent stores a value unless the name has one, which it returns.
	PutIfAbsent(ctx context.Context, name, value string) (existing string, stored bool, err error)
	Swapper
}

// Swapper is the rest of Settings.
type Swapper interface {
	// Swap replaces a value when it still is old.
	Swap(ctx context.Context, name, old, value string) (swapped bool, err error)
	// Delete removes a value; a missing name is no error.
	Delete(ctx context.Context, name string) error
}

// Options is what a test asks of the store that it opens.
type Options struct {
	// Limits bounds what is kept.
	Limits store.Limits
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Opened is a store under test.
type Opened struct {
	Backend
	// Settings is its table of named values.
	Settings Settings
	// Close closes it.
	Close func() error
}

// Run runs the suite. Open opens an empty store that lives as long as t.
func Run(t *testing.T, open func(t testing.TB, o Options) Opened) {
	suite := []struct {
		name string
		run  func(t *testing.T, open func(t testing.TB, o Options) Opened)
	}{
		{"KV", testKV},
		{"KVScopes", testKVScopes},
		{"KVExpiry", testKVExpiry},
		{"KVPrefix", testKVPrefix},
		{"KVBounds", testKVBounds},
		{"KVBehaviour", testBehaviour},
		{"KVConcurrent", testKVConcurrent},
		{"KVModel", testKVModel},
		{"Reads", testReads},
		{"ReadsBounded", testReadsBounded},
		{"Settings", testSettings},
		{"SettingsConcurrent", testSettingsConcurrent},
		{"Principals", testPrincipals},
		{"PrincipalsConcurrent", testPrincipalsConcurrent},
		{"Switches", testSwitches},
		{"AuditChain", testAuditChain},
		{"AuditQueries", testAuditQueries},
		{"AuditConcurrent", testAuditConcurrent},
		{"AuditSealFails", testAuditSealFails},
		{"AuditPrune", testAuditPrune},
		{"AuditPruneRefuses", testAuditPruneRefuses},
		{"AuditSlowReader", testAuditSlowReader},
		{"AuditExport", testAuditExport},
		{"Closed", testClosed},
		{"Cancelled", testCancelled},
	}
	for _, part := range suite {
		t.Run(part.name, func(t *testing.T) { part.run(t, open) })
	}
}

// manualClock is a clock that a test moves.
type manualClock struct {
	mu  sync.Mutex
	now time.Time
}

func newManualClock() *manualClock {
	return &manualClock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
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
