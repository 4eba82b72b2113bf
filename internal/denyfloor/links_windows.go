package denyfloor

import "io/fs"

// linkCount returns the number of names of a file, which is not looked up
// here.
func linkCount(fs.FileInfo) uint64 { return 1 }
