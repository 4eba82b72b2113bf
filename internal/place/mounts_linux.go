package place

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

type mountLine struct {
	id                 int
	device, root, path string
}

// mountList is what is mounted where; see proc_pid_mountinfo(5).
type mountList struct {
	list []mountLine
	byID map[int]*mountLine
	// shared is true when a file system is mounted under two names.
	shared bool
}

// readMounts reads the mounts of this process. Without /proc nothing is known of
// them, and folders are told apart by name.
func readMounts() *mountList {
	m := &mountList{byID: map[int]*mountLine{}}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return m
	}
	devices := map[string]bool{}
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) < 6 {
			continue
		}
		id, err := strconv.Atoi(f[0])
		if err != nil {
			continue
		}
		one := mountLine{id: id, device: f[2], root: unescapeOctal(f[3]), path: unescapeOctal(f[4])}
		m.shared = m.shared || devices[one.device]
		devices[one.device] = true
		m.list = append(m.list, one)
	}
	for i := range m.list {
		m.byID[m.list[i].id] = &m.list[i]
	}
	return m
}

// unescapeOctal decodes the octal escapes of mountinfo.
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(c))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hasSingleNames reports whether each folder has one name only.
func (m *mountList) hasSingleNames() bool { return !m.shared }

// spotOf is where a link-free path lies; of a path that does not exist, where its
// nearest folder does.
func (m *mountList) spotOf(path string) fsLocation {
	for at := path; ; at = filepath.Dir(at) {
		var st unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
		if err != nil {
			if at == "/" {
				return fsLocation{}
			}
			continue
		}
		on := m.byID[int(st.Mnt_id)]
		if st.Mask&unix.STATX_MNT_ID == 0 || on == nil {
			on = m.findMount(at)
		}
		if on == nil || !isWithin(on.path, at) {
			return fsLocation{}
		}
		rel, err := filepath.Rel(on.path, path)
		if err != nil {
			return fsLocation{}
		}
		return fsLocation{on.device, filepath.Join(on.root, rel)}
	}
}

// findMount finds the mount of a path by names: of the longest, the latest.
func (m *mountList) findMount(path string) (on *mountLine) {
	for i := range m.list {
		if isWithin(m.list[i].path, path) && (on == nil || len(m.list[i].path) >= len(on.path)) {
			on = &m.list[i]
		}
	}
	return on
}

// locationsOf is a place and everything that is mounted below it.
func (m *mountList) locationsOf(path string) []fsLocation {
	list := []fsLocation{m.spotOf(path)}
	for _, one := range m.list {
		if one.path != path && isWithin(path, one.path) {
			list = append(list, fsLocation{one.device, one.root})
		}
	}
	return list
}
