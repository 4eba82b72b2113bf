//go:build !unix

package audit

import (
	"io/fs"
	"os"
)

func openKey(path string) (*os.File, error) { return os.Open(path) }

// checkPrivate has nothing to look at: permission bits say nothing on these
// systems, where the user's profile directory is what keeps others out.
func checkPrivate(fs.FileInfo) error { return nil }
