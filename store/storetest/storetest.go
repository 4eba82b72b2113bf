// Package storetest checks that a state backend satisfies the contract of
// [store.State].
//
// A backend's test calls [Run] with a function that opens an empty state. One
// whose state outlives its process calls [RunDurable] too.
package storetest

import (
	"testing"

	"github.com/sallyport/sallyport/store"
)

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
		{"ReadsKept", testReadsKept},
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
