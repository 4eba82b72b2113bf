//go:build !unix

package fsx

import "os"

// Exclusive does something.
func Exclusive(_ string, do func() error) error { return do() }

// OpenLock opens a file that is a lock.
func OpenLock(path string) (*os.File, error) { return os.Open(path) }

// TakeLock locks nothing.
func TakeLock(*os.File) error { return nil }
