package helper

import (
	"errors"
	"syscall"
)

const (
	// hostDir is where the host's tree hangs while the child's is built.
	hostDir = "/.host"
	// emptyDir and emptyFile are what covers a path: they have no mode bits
	// and lie on a file system that becomes read-only, so not even their
	// owner opens them.
	emptyDir  = "/.empty-dir"
	emptyFile = "/.empty-file"
	// rootBytes bounds the memory of the tree itself: directories and a few
	// small files.
	rootBytes = "16m"
	// maxDepth bounds the elements of a path.
	maxDepth = 256
)

// pivotRoot puts an empty file system in the place of the root and the host's
// tree below it. Whatever the host mounts or unmounts later stays out.
func pivotRoot() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return wrapError("private mounts", err)
	}
	// Any directory will do: the mount moves away from it at once.
	base := "/tmp"
	if err := syscall.Access(base, 0); err != nil {
		base = "/usr"
	}
	if err := syscall.Mount("tmpfs", base, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "mode=0755,size="+rootBytes); err != nil {
		return wrapError("tree: mount", err)
	}
	if err := syscall.Chdir(base); err != nil {
		return wrapError("tree", err)
	}
	old := hostDir[1:]
	if err := syscall.Mkdir(old, 0o700); err != nil {
		return wrapError("tree", err)
	}
	if err := syscall.PivotRoot(".", old); err != nil {
		return wrapError("tree: pivot_root", err)
	}
	if err := syscall.Chdir("/"); err != nil {
		return wrapError("tree", err)
	}
	if err := recordOwnMemory("/"); err != nil {
		return wrapError("tree", err)
	}
	if err := syscall.Mkdir(emptyDir, 0); err != nil {
		return wrapError("tree", err)
	}
	return syscall.Mknod(emptyFile, syscall.S_IFREG, 0)
}

// detachHost lets go of the host and closes the tree for writing.
func detachHost() error {
	if err := syscall.Unmount(hostDir, syscall.MNT_DETACH); err != nil {
		return wrapError("tree: let go of the host", err)
	}
	if err := syscall.Rmdir(hostDir); err != nil {
		return wrapError("tree", err)
	}
	root, err := openPath(atFDCWD, "/", 0)
	if err != nil {
		return wrapError("tree", err)
	}
	defer syscall.Close(root)
	return wrapError("tree: read-only root", setMount(root, 0, mountAttr{set: attrReadOnly | attrNoSuid | attrNoDev}))
}

// coverHostFiles shows files in the place of others of the host's tree.
func coverHostFiles(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		if err := syscall.Mount(op.Source, op.Path, "", syscall.MS_BIND, ""); err != nil && err != syscall.ENOENT {
			return wrapError("tree: cover "+op.Path, err)
		}
	}
	return nil
}

// applyOps carries out the steps in order.
func applyOps(ops []Op) error {
	for i := range ops {
		op := &ops[i]
		if err := op.apply(); err != nil {
			if op.Optional && (err == syscall.ENOENT || op.Do == DoProc || op.Do == DoBind && err == syscall.EACCES) {
				continue // a child whose user is another one cannot open it either
			}
			if op.Alias && (err == syscall.ELOOP || err == syscall.EEXIST) {
				continue
			}
			return wrapError("tree: "+op.Do+" "+op.Path, err)
		}
	}
	return nil
}

func (op *Op) apply() error {
	switch op.Do {
	case DoDir:
		if err := makeDir(op.Path); err != nil {
			return err
		}
		return syscall.Chmod(op.Path, op.Mode)
	case DoFile:
		return op.makeFile()
	case DoLink:
		return op.makeLink()
	case DoBind:
		return op.bindPath()
	case DoTmpfs:
		return op.mountTmpfs()
	case DoProc:
		return op.mountProc()
	case DoOverlay:
		return op.mountOverlay()
	case DoTray:
		return op.mountTray()
	case DoPin:
		return op.pinPath()
	case DoCover:
		return op.coverPath()
	default:
		return errors.New("unknown step")
	}
}

func (op *Op) makeFile() error {
	parent, name := splitPath(op.Path)
	dir, err := lastFolder.switchTo(parent)
	if err != nil {
		return err
	}
	fd, err := syscall.Openat(dir, name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, op.Mode)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	for data := op.Data; len(data) > 0; {
		n, err := syscall.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (op *Op) makeLink() error {
	parent, name := splitPath(op.Path)
	dir, err := lastFolder.switchTo(parent)
	if err != nil {
		return err
	}
	return symlinkat(op.Source, dir, name)
}

// bindPath shows a path of the host. It is opened without following any link and
// compared with what the runtime judged; the mount is made of what was opened.
func (op *Op) bindPath() error {
	if op.Tree != 0 {
		return op.attachTree(op.Path)
	}
	src, st, err := op.openSource()
	if err != nil {
		return err
	}
	defer syscall.Close(src)
	tree, err := cloneTree(src, atRecursive, mountAttr{set: op.Attributes()})
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	return attachMount(tree, op.Path, st.Mode&syscall.S_IFMT == syscall.S_IFDIR)
}

// Attributes is what a mount is held to, as mount_setattr(2) numbers it.
func (op *Op) Attributes() uint64 {
	attr := uint64(attrNoSuid)
	if !op.Write {
		attr |= attrReadOnly
	}
	if !op.Exec {
		attr |= attrNoExec
	}
	if !op.Device {
		attr |= attrNoDev
	}
	return attr
}

var errExchanged = errors.New("the path was exchanged")

// openSource opens a path of the host without following links.
func (op *Op) openSource() (fd int, st syscall.Stat_t, err error) {
	fd, err = openPath(atFDCWD, hostDir+op.Source, 0)
	if err != nil {
		return -1, st, err
	}
	if err = syscall.Fstat(fd, &st); err == nil && (op.Ino != 0 || op.Dev != 0) && (st.Ino != op.Ino || st.Dev != op.Dev) {
		err = errExchanged
	}
	if err != nil {
		syscall.Close(fd)
		return -1, st, err
	}
	return fd, st, nil
}

// attachMount mounts a detached tree on a path, which is made when it may be.
func attachMount(tree int, path string, dir bool) error {
	target, err := openOrMake(path, dir)
	if err != nil {
		return err
	}
	defer syscall.Close(target)
	lastFolder.closeBelow(path)
	return moveMount(tree, target)
}

// mountFlags are those of a file system that is mounted for the child.
func (op *Op) mountFlags() uintptr {
	if op.Exec {
		return syscall.MS_NOSUID | syscall.MS_NODEV
	}
	return syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
}

func (op *Op) mountTmpfs() error {
	if err := makeDir(op.Path); err != nil {
		return err
	}
	// An inode costs memory that no size counts: one for every 4 KiB.
	data := "mode=" + formatOctal(op.Mode) + ",size=" + formatDecimal(op.Size) + ",nr_inodes=" + formatDecimal(max(op.Size/4096, 64))
	lastFolder.closeBelow(op.Path)
	if err := syscall.Mount("tmpfs", op.Path, "tmpfs", op.mountFlags(), data); err != nil {
		return err
	}
	return recordOwnMemory(op.Path)
}

func (op *Op) mountProc() error {
	if err := makeDir(op.Path); err != nil {
		return err
	}
	lastFolder.closeBelow(op.Path)
	return syscall.Mount("proc", op.Path, "proc", op.mountFlags()|syscall.MS_RDONLY, "")
}

// mountOverlay shows a directory of the host with a layer on top that takes the
// writes. The layers are named by descriptor, which needs no quoting and is
// what was opened.
func (op *Op) mountOverlay() error {
	lower, err := op.openLower()
	if err != nil {
		return err
	}
	defer syscall.Close(lower)
	target, err := openOrMake(op.Path, true)
	if err != nil {
		return err
	}
	defer syscall.Close(target)
	upper, work := op.Memory+"/upper", op.Memory+"/work"
	for _, dir := range []string{upper, work} {
		if err := makeDir(dir); err != nil {
			return err
		}
	}
	if op.Mode != 0 {
		// The root of an overlay has the mode of the directory on top.
		if err := syscall.Chmod(upper, op.Mode); err != nil {
			return err
		}
	}
	up, err := openDir(upper)
	if err != nil {
		return err
	}
	defer syscall.Close(up)
	wk, err := openDir(work)
	if err != nil {
		return err
	}
	defer syscall.Close(wk)
	data := "lowerdir=" + procFD(lower) + ",upperdir=" + procFD(up) + ",workdir=" + procFD(wk) + ",userxattr"
	lastFolder.closeBelow(op.Path)
	if err := syscall.Mount("overlay", procFD(target), "overlay", op.mountFlags(), data); err != nil {
		return err
	}
	return hidden.unmountAll()
}

func openDir(path string) (int, error) { return openPath(atFDCWD, path, syscall.O_DIRECTORY) }

// pinPath mounts a path of the tree on itself.
func (op *Op) pinPath() error {
	// A link as the last element is pinned itself: it must not be replaced.
	fd, err := openPath(atFDCWD, op.Path, syscall.O_NOFOLLOW)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var attr mountAttr
	if !op.Write {
		attr.set = attrReadOnly
	}
	if op.Exec {
		attr.clr = attrNoExec
	}
	tree, err := cloneTree(fd, atRecursive, attr)
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	lastFolder.closeBelow(op.Path)
	return moveMount(tree, fd)
}

// coverPath hides a path that exists.
func (op *Op) coverPath() error {
	var st syscall.Stat_t
	if err := syscall.Lstat(op.Path, &st); err != nil {
		return err
	}
	empty := emptyFile
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		empty = emptyDir
	}
	src, err := openPath(atFDCWD, empty, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(src)
	tree, err := cloneTree(src, 0, mountAttr{set: op.Attributes()})
	if err != nil {
		return err
	}
	defer syscall.Close(tree)
	return attachMount(tree, op.Path, empty == emptyDir)
}
