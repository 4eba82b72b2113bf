//go:build !unix

package secrets

import "io/fs"

const openFlags = 0

// private passes every file: the mode bits here say nothing about who may
// read it.
func private(string, fs.FileInfo) error { return nil }
