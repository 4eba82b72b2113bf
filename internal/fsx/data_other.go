//go:build !linux

package fsx

import "os"

// SyncData brings the content of a file to the disk.
func SyncData(f *os.File) error { return f.Sync() }
