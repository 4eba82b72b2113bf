package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/sallyport/sallyport/internal/fsx"
)

// Fingerprint returns what [Config.Digest] would be if the files, in that
// order, were loaded now, without judging them. It reads the files, since a clock
// or a file system may be coarse. A file that cannot be read is an error: an
// editor may be replacing it. A server that polls keeps the last fingerprint, so
// that it loads a bad file once and not each time.
func Fingerprint(paths []string) (string, error) {
	if len(paths) == 0 || len(paths) > maxFiles {
		return "", fmt.Errorf("config: %d files: expected 1 to %d", len(paths), maxFiles)
	}
	sums := make([][sha256.Size]byte, len(paths))
	var errs []error
	for i, path := range paths {
		data, err := readFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: cannot be read: %s", path, fsx.Reason(err)))
		}
		sums[i] = sha256.Sum256(data)
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return combineDigests(sums), nil
}

// combineDigests returns the digest of the only file, for several files that of
// their binary digests in order.
func combineDigests(sums [][sha256.Size]byte) string {
	if len(sums) == 1 {
		return hex.EncodeToString(sums[0][:])
	}
	h := sha256.New()
	for _, s := range sums {
		h.Write(s[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
