//go:build !unix

package serverlist

import "os"

func lockFile(*os.File) error { return nil }

func isHeld(*os.File) bool { return false }

func openEntry(path string) (*os.File, error) { return os.Open(path) }

// isPrivate returns false, so that no server is listed: no lock would tell which
// ones run.
func isPrivate(string) bool { return false }
