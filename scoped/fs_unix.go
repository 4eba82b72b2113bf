//go:build !windows

package scoped

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openFlags keep an open from waiting for the other end of a FIFO and from
// making a terminal the controlling one.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY

// openDirFlags open a directory and nothing else.
const openDirFlags = openFlags | unix.O_DIRECTORY

// fileID tells files apart while they exist.
type fileID struct{ dev, ino uint64 }

func idOf(info fs.FileInfo) fileID {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fileID{uint64(st.Dev), uint64(st.Ino)}
	}
	return fileID{}
}

func (id fileID) isSame(o fileID) bool { return id == o }

// keepOwner gives f the owner of the file that it will replace. Only a
// privileged process may; for the others the replacement is their own, as with
// every editor.
func keepOwner(f *os.File, old fs.FileInfo) {
	st, ok := old.Sys().(*syscall.Stat_t)
	if !ok || (st.Uid == uint32(os.Geteuid()) && st.Gid == uint32(os.Getegid())) {
		return
	}
	_ = f.Chown(int(st.Uid), int(st.Gid)) // Not being allowed to is no failure.
}

// lockFile takes the exclusive advisory lock of an open file or directory. The
// lock belongs to the open file, so two calls of one process exclude each
// other as two processes do. It waits until the context ends, at most
// lockWait.
func lockFile(ctx context.Context, f *os.File, _ string) (unlock func(), err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	try := func() (bool, error) {
		var got error
		if err := conn.Control(func(fd uintptr) { got = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
			return false, err
		}
		if errors.Is(got, unix.EWOULDBLOCK) || errors.Is(got, unix.EINTR) {
			return false, nil
		}
		return got == nil, got
	}
	if err := pollUntil(ctx, try); err != nil {
		return nil, err
	}
	// Closing the file releases the lock.
	return func() {}, nil
}
