//go:build !linux

package scoped

import places "github.com/sallyport/sallyport/internal/place"

// statIdentity says what is at a path on which no link is followed.
func statIdentity(path string) (id fileID, dir bool, err error) {
	at, err := places.Open(path)
	if err != nil {
		return fileID{}, false, err
	}
	defer at.Close()
	info, err := at.Stat()
	if err != nil {
		return fileID{}, false, err
	}
	return idOf(info), info.IsDir(), nil
}
