package startup

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
)

// smallHeap is up to what a heap may grow before its garbage is collected, in bytes. What
// lives in a gate is a few megabytes: at the usual percentage it would collect dozens of
// times a second under load, which is a tenth of what it computes.
const smallHeap = 32 << 20

// percentStep is in what steps the percentage changes: it is not set after every collection.
const percentStep = 25

// percentFor returns how much garbage may be there, in percent of what lives. The usual
// percentage holds for a heap that is not small.
func percentFor(live uint64, usual int) int {
	if live == 0 {
		return startPercent
	}
	room := uint64(smallHeap) - min(live, smallHeap)
	percent := int(min(room*100/live, startPercent))
	return max(percent-percent%percentStep, usual)
}

// collector sets after each collection when the next one is due.
type collector struct {
	usual   int
	percent atomic.Int64 // that is in force
}

// followHeap adapts the percentage now and after each collection.
func (c *collector) followHeap() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int64(percentFor(live[0].Value.Uint64(), c.usual))
	if was := c.percent.Swap(percent); was != percent {
		debug.SetGCPercent(int(percent)) // it stops the program for a moment
	}
	runtime.AddCleanup(&collected{}, func(c *collector) { c.followHeap() }, c)
}

// collected is an object that the next collection removes. With a pointer in it, it shares
// its memory with no other one.
type collected struct{ _ *collected }
