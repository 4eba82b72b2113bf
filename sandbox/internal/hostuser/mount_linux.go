package hostuser

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxID is one more than the highest user: -1 is none.
const maxID = 1<<32 - 1

// Swap is the lines of a user namespace that swaps root and a number and keeps
// the rest (mount_setattr(2), "ID-mapped mounts"). In a mount with this map
// root's files are the child's, what the child makes is root's on the disk, and
// a file that has the number on the disk is root's to the child.
func Swap(id int) []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{
		{ContainerID: 0, HostID: id, Size: 1},
		{ContainerID: 1, HostID: 1, Size: id - 1},
		{ContainerID: id, HostID: 0, Size: 1},
		{ContainerID: id + 1, HostID: id + 1, Size: maxID - id - 1},
	}
}

// Clone makes a detached mount of what a descriptor has open, without those
// below it, with attributes of mount_setattr(2) added. With users it is mapped;
// [Unmappable] tells whether an error says that it cannot be.
func Clone(fd int, attributes uint64, users *os.File) (*os.File, error) {
	const flags = unix.AT_EMPTY_PATH | unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	tree, err := unix.OpenTree(fd, "", flags)
	if err != nil {
		return nil, os.NewSyscallError("open_tree", err)
	}
	f := os.NewFile(uintptr(tree), "mount")
	attr := unix.MountAttr{Attr_set: attributes}
	if users != nil {
		attr.Attr_set |= unix.MOUNT_ATTR_IDMAP
		attr.Userns_fd = uint64(users.Fd())
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		f.Close()
		return nil, os.NewSyscallError("mount_setattr", err)
	}
	return f, nil
}

// Unmappable reports whether an error of [Clone] says that this kernel does not
// map what was to be cloned: a file system that cannot be mapped, a mount that is
// mapped already, a process that may not (mount_setattr(2), "ERRORS").
func Unmappable(err error) bool {
	return slices.ContainsFunc([]error{unix.EINVAL, unix.EPERM, unix.ENOSYS, unix.EOPNOTSUPP}, func(e error) bool { return errors.Is(err, e) })
}
