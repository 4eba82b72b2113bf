//go:build !unix

package fsx

import "os"

// SyncDir does nothing: these systems do not sync directories.
func SyncDir(string) error { return nil }

// SyncOpenDir does nothing: these systems do not sync directories.
func SyncOpenDir(*os.File) error { return nil }
