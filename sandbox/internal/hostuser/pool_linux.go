package hostuser

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The numbers that are given out. systemd calls those from 1879048192 to
// 2147483647 unused (systemd.io/UIDS-GIDS); Linux has 65534 for users that it
// cannot show.
const (
	First = 2_000_000_000
	Count = 256
)

// maxLine bounds a line of the accounts: a group with all its members.
const maxLine = 1 << 20

// span is a run of numbers.
type span struct{ first, count int }

// knownIDs reads which numbers the accounts of the machine have, and which are
// theirs to give out. Where a file does not exist there are none.
func knownIDs(dir string) (all []span, err error) {
	for _, f := range []struct {
		name        string
		first, size int // the fields that hold them; no size means one
	}{{"passwd", 2, -1}, {"passwd", 3, -1}, {"group", 2, -1}, {"subuid", 1, 2}, {"subgid", 1, 2}} {
		file, err := os.Open(filepath.Join(dir, f.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the accounts of the machine: %w", err)
		}
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			fields := strings.Split(lines.Text(), ":")
			if s, ok := spanOf(fields, f.first, f.size); ok {
				all = append(all, s)
			}
		}
		err = lines.Err()
		file.Close()
		if err != nil {
			return nil, fmt.Errorf("the accounts of the machine: %s: %w", f.name, err)
		}
	}
	return all, nil
}

func spanOf(fields []string, first, size int) (s span, ok bool) {
	s.count = 1
	for field, to := range map[int]*int{first: &s.first, size: &s.count} {
		if field < 0 {
			continue
		}
		if field >= len(fields) {
			return s, false
		}
		n, err := strconv.Atoi(fields[field])
		if err != nil || n < 0 {
			return s, false
		}
		*to = n
	}
	return s, true
}
