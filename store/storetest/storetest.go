// Package storetest checks that a state backend satisfies the contract of
// [store.State].
//
// A backend's test calls [Run] with a function that opens an empty state. One
// whose state outlives its process calls [RunDurable] too.
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/store"
)

// Options is what a test asks of the state that it opens.
type Options struct {
	// Limits bounds what is stored.
	Limits store.Limits
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// opener opens an empty state.
type opener = func(t testing.TB, o Options) store.State

// part is one part of the suite.
type part struct {
	name string
	run  func(t *testing.T, open opener)
}

// Run runs the suite. Open opens an empty state that lives as long as t and
// that shares nothing with another one.
func Run(t *testing.T, open func(t testing.TB, o Options) store.State) {
	runParts(t, open, []part{
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
		{"Approvals", testApprovals},
		{"Facts", testFacts},
		{"Limits", testLimits},
		{"Places", testPlaces},
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
	})
}

func runParts(t *testing.T, open opener, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.run(t, open) })
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
