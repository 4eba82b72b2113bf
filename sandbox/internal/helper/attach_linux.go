package helper

import (
	"errors"
	"syscall"
)

// detachedMounts are mounts that the runtime has made, in the order in which
// they came.
type detachedMounts []int

// trees are those of the message whose steps are being carried out.
var trees detachedMounts

// appendMounts adds the mounts of one packet.
func (d *detachedMounts) appendMounts(fds []int) error {
	if len(fds) == 0 || len(*d)+len(fds) > MaxAllTrees {
		return errors.New("the message brings " + formatDecimal(int64(len(fds))) + " mounts after " + formatDecimal(int64(len(*d))))
	}
	*d = append(*d, fds...)
	return nil
}

// mountAt returns the mount with a number; the first is 1.
func (d detachedMounts) mountAt(n int) (fd int, err error) {
	if n < 1 || n > len(d) {
		return -1, errors.New("there is no mount with the number " + formatDecimal(int64(n)))
	}
	return d[n-1], nil
}

// close lets go of what was not attached.
func (d *detachedMounts) close() {
	for _, fd := range *d {
		syscall.Close(fd)
	}
	*d = nil
}

// attachTree shows the detached mount of a step at a path.
func (op *Op) attachTree(path string) error {
	tree, err := trees.mountAt(op.Tree)
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(tree, &st); err != nil {
		return err
	}
	return attachMount(tree, path, st.Mode&syscall.S_IFMT == syscall.S_IFDIR)
}

// openLower opens the directory under the layer of an overlay. One that comes
// as a detached mount is attached first: overlayfs refuses what is in no tree.
func (op *Op) openLower() (fd int, err error) {
	if op.Tree == 0 {
		fd, _, err = op.openSource()
		return fd, err
	}
	path, err := hidden.attachNumbered(op.Tree)
	if err != nil {
		return -1, err
	}
	return openDir(path)
}

// hiddenDir is where detached mounts hang while an overlay is made of them.
const hiddenDir = "/.detached"

// mountFolders are folders of the tree where something is mounted for the moment.
type mountFolders []string

// hidden are those below hiddenDir.
var hidden mountFolders

// attachNumbered mounts the detached mount of a number in a folder of its own.
func (p *mountFolders) attachNumbered(number int) (path string, err error) {
	tree, err := trees.mountAt(number)
	if err != nil {
		return "", err
	}
	path = hiddenDir + "/" + formatDecimal(int64(len(*p)))
	if err := attachMount(tree, path, true); err != nil {
		return "", err
	}
	*p = append(*p, path)
	return path, nil
}

// unmountAll unmounts them, so that they are reached through the overlay only,
// which keeps mounts of its own.
func (p *mountFolders) unmountAll() error {
	for _, path := range *p {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			return wrapError("overlay", err)
		}
		if err := syscall.Rmdir(path); err != nil {
			return wrapError("overlay", err)
		}
	}
	if len(*p) > 0 {
		*p = nil
		lastFolder.closeBelow(hiddenDir)
		return wrapError("overlay", syscall.Rmdir(hiddenDir))
	}
	return nil
}
