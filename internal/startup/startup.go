// Package startup has a program collect garbage more rarely while it starts and while its
// heap is small, and let go of what only the start needed. A program imports it for that alone.
package startup

import (
	"os"
	"runtime/debug"
	"time"
)

// A start allocates a few megabytes, and most commands then end. Collecting their
// garbage is a third of what they compute.
const (
	startPercent = 400
	startTime    = 2 * time.Second
	// releaseTime is after the first answers of a server on a busy machine.
	releaseTime = 5 * time.Second
)

// A third of what a start allocates is made before main begins, by packages whose
// path comes after this one's, and a collection would have begun by then. The
// variable GOGC says otherwise.
func init() {
	time.AfterFunc(releaseTime, releaseMemory)
	if os.Getenv("GOGC") != "" {
		return
	}
	usual := debug.SetGCPercent(startPercent)
	time.AfterFunc(startTime, (&collector{usual: usual}).followHeap)
}
