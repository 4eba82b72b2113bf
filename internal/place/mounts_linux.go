package place

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is one line of mountinfo.
type mount struct {
	id                 int
	device, root, path string
}

// mounts is what is mounted where; see proc_pid_mountinfo(5).
type mounts struct {
	list []mount
	byID map[int]*mount
	// shared is true when a file system is mounted under two names.
	shared bool
}

// readMounts reads the mounts of this process. Without /proc nothing is known of
// them, and folders are told apart by name.
func readMounts() *mounts {
	m := &mounts{byID: map[int]*mount{}}
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
		one := mount{id: id, device: f[2], root: unescape(f[3]), path: unescape(f[4])}
		m.shared = m.shared || devices[one.device]
		devices[one.device] = true
		m.list = append(m.list, one)
	}
	for i := range m.list {
		m.byID[m.list[i].id] = &m.list[i]
	}
	return m
}

// unescape decodes the octal escapes of mountinfo.
func unescape(s string) string {
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

// plain reports whether each folder has one name only.
func (m *mounts) plain() bool { return !m.shared }

// spotOf is where a link-free path lies; of a path that does not exist, where its
// nearest folder does.
func (m *mounts) spotOf(path string) spot {
	for at := path; ; at = filepath.Dir(at) {
		var st unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_MNT_ID, &st)
		if err != nil {
			if at == "/" {
				return spot{}
			}
			continue
		}
		on := m.byID[int(st.Mnt_id)]
		if st.Mask&unix.STATX_MNT_ID == 0 || on == nil {
			on = m.around(at)
		}
		if on == nil || !isWithin(on.path, at) {
			return spot{}
		}
		rel, err := filepath.Rel(on.path, path)
		if err != nil {
			return spot{}
		}
		return spot{on.device, filepath.Join(on.root, rel)}
	}
}

// around finds the mount of a path by names: of the longest, the latest.
func (m *mounts) around(path string) (on *mount) {
	for i := range m.list {
		if isWithin(m.list[i].path, path) && (on == nil || len(m.list[i].path) >= len(on.path)) {
			on = &m.list[i]
		}
	}
	return on
}

// spotsOf is a place and everything that is mounted below it.
func (m *mounts) spotsOf(path string) []spot {
	list := []spot{m.spotOf(path)}
	for _, one := range m.list {
		if one.path != path && isWithin(path, one.path) {
			list = append(list, spot{one.device, one.root})
		}
	}
	return list
}

// untrustedReason says why a link outside the grounds is not the operator's.
func untrustedReason(dir string, info os.FileInfo) string { return foreignReason(dir, info) }
