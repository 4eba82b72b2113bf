package hostuser

import "syscall"

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
