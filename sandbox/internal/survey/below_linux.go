package survey

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/sallyport/sallyport/internal/reach"
)

// MountPoint is a mount of this process.
type MountPoint struct {
	// ID is its number, as statx(2) has it.
	ID uint64
	// Path is where it is.
	Path string
}

// MountPoints lists the mounts of this process, those that others hide
// included, in the order in which they were made.
func MountPoints() ([]MountPoint, error) {
	data, err := os.ReadFile(mountsFile)
	if err != nil {
		return nil, fmt.Errorf("the mounts of this machine are not known: %w", err)
	}
	var out []MountPoint
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(line, " ", 6)
		if len(fields) < 6 {
			return nil, fmt.Errorf("%s has the line %q, which is not known", mountsFile, line)
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s has the line %q, which is not known", mountsFile, line)
		}
		out = append(out, MountPoint{id, unescapeOctal(fields[4])})
	}
	return out, nil
}

// Below picks those that lie below a path, without one on the path itself.
func Below(all []MountPoint, path string) []MountPoint {
	var out []MountPoint
	for _, m := range all {
		if m.Path != path && reach.Within(path, m.Path) {
			out = append(out, m)
		}
	}
	return out
}
