//go:build !unix

package scratch

import "os"

func hold(*os.File) error { return nil }

func openLock(path string) (*os.File, error) { return os.Open(path) }

// own says that nothing may be swept: no lock would tell what is in use.
func own(string) bool { return false }
