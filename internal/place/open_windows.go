package place

import (
	"io/fs"
	"os"
)

func openSeen(path string, _ fs.FileInfo) (*os.File, error) { return os.Open(path) }

// untrustedReason returns why a link outside the grounds is not the operator's.
// Access lists are not read here.
func untrustedReason(string, fs.FileInfo) string { return "" }
