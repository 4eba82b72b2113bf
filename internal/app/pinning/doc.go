// Package pinning compares MCP servers with the lock file and pins what they
// are and offer.
//
// Start with [PinServers], [CompareLock] and [LockDiff.Accept], which are what the
// commands lock, diff and lock accept do.
package pinning
