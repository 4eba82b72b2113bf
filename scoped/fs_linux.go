package scoped

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	places "github.com/sallyport/sallyport/internal/place"
)

// statIdentity says what is at a path on which no link is followed.
func statIdentity(path string) (id fileID, dir bool, err error) {
	st, err := places.Stat(path)
	if err != nil {
		return fileID{}, false, err
	}
	return fileID{uint64(st.Dev), uint64(st.Ino)}, st.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// openedPath returns where an open file lies, as the kernel sees it. Without a
// mounted /proc it is looked up by name and compared.
func openedPath(f *os.File, path string) (string, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return "", err
	}
	var real string
	var got error
	err = conn.Control(func(fd uintptr) {
		real, got = readOwnLink(int(fd))
	})
	if err != nil {
		return "", err
	}
	if got != nil || !strings.HasPrefix(real, "/") {
		return openedPathByName(f, path)
	}
	if name, ok := strings.CutSuffix(real, " (deleted)"); ok && !strings.HasSuffix(path, " (deleted)") {
		// The name was taken away or replaced after the file was opened.
		return name, nil
	}
	return real, nil
}

// fileIdentity identifies an open file beyond its lifetime: device, inode, and the
// time of birth where the file system knows it, since inode numbers are used
// again at once.
func fileIdentity(f *os.File) string {
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var st unix.Statx_t
	var got error
	err = conn.Control(func(fd uintptr) {
		got = unix.Statx(int(fd), "", unix.AT_EMPTY_PATH, unix.STATX_INO|unix.STATX_BTIME, &st)
	})
	if err != nil || got != nil {
		return ""
	}
	b := make([]byte, 0, 64)
	for i, n := range [...]uint64{uint64(st.Dev_major), uint64(st.Dev_minor), st.Ino} {
		b = append(strconv.AppendUint(b, n, 16), ".::"[i])
	}
	b = append(strconv.AppendInt(b, st.Btime.Sec, 16), '.')
	return string(strconv.AppendUint(b, uint64(st.Btime.Nsec), 16))
}
