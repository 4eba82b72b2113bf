//go:build race

package needs

// Race is whether the race detector runs, with which a pool forgets what it has.
const Race = true
