package place

import (
	"io/fs"
	"os"
)

// openSeen opens what was seen.
func openSeen(path string, _ fs.FileInfo) (*os.File, error) { return os.Open(path) }
