package seeded

import _ "unsafe" // for go:linkname

//go:linkname stop runtime.Breakpoint
func stop() // want linkname: stop

// add is written in assembly.
func add(n int) int // want not shown: is written in assembly
