package overlay

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copyData copies a file of a size, and leaves its holes holes: a child that makes one
// takes no space of the host by it.
func copyData(to, from *os.File, size int64) error {
	for at := int64(0); at < size; {
		data, err := from.Seek(at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // A hole to the end.
		}
		if err != nil {
			return err
		}
		hole, err := from.Seek(data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		hole = min(hole, size)
		if n, err := io.Copy(io.NewOffsetWriter(to, data), io.NewSectionReader(from, data, hole-data)); err != nil {
			return err
		} else if n != hole-data {
			return errors.New("the private layer changed")
		}
		at = hole
	}
	return to.Truncate(size)
}
