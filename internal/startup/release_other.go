//go:build !linux

package startup

import "runtime/debug"

// releaseMemory lets go of what only a start needs.
func releaseMemory() { debug.FreeOSMemory() }
