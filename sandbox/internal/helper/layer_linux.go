package helper

import "syscall"

// buildLayered completes the tree of a child, above private layers when it has
// some. Their memory hangs in the tree for as long as it is built: a child
// that could reach it would write past what covers its tree. It goes to the
// runtime, opened: when both are gone, by whatever end, it is gone too.
func buildLayered(spec *Spec) error {
	if spec.Layer == nil {
		return applyOps(spec.Tree)
	}
	fd, err := spec.Layer.mountMemory()
	if err != nil {
		return wrapError("private layer", err)
	}
	defer syscall.Close(fd)
	if err := applyOps(spec.Tree); err != nil {
		return err
	}
	if err := sendMessage(MsgLayer, fd); err != nil {
		return err
	}
	lastFolder.closeBelow(LayerDir)
	if err := syscall.Unmount(LayerDir, syscall.MNT_DETACH); err != nil {
		return wrapError("private layer: let go", err)
	}
	return wrapError("private layer", syscall.Rmdir(LayerDir))
}

// mountMemory mounts the memory and returns it opened.
func (l *Layer) mountMemory() (int, error) {
	if err := syscall.Mkdir(LayerDir, 0o700); err != nil {
		return -1, err
	}
	data := "mode=0700,size=" + formatDecimal(l.Bytes) + ",nr_inodes=" + formatDecimal(l.Files)
	if err := syscall.Mount("tmpfs", LayerDir, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, data); err != nil {
		return -1, err
	}
	if err := recordOwnMemory(LayerDir); err != nil {
		return -1, err
	}
	return syscall.Open(LayerDir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
}

// mountTray shows a folder of the memory at a path. What the steps after it show
// in that folder is mounted on places that they make in the memory.
func (op *Op) mountTray() error {
	upper := op.Memory + "/upper"
	if err := makeDir(upper); err != nil {
		return err
	}
	if op.Mode != 0 {
		if err := syscall.Chmod(upper, op.Mode); err != nil {
			return err
		}
	}
	fd, err := openDir(upper)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	tree, err := cloneTree(fd, 0, mountAttr{set: op.Attributes()})
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	return attachMount(tree, op.Path, true)
}
