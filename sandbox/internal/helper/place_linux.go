package helper

import (
	"errors"
	"syscall"
)

// openOrMake opens a path of the tree without following links. What is missing is
// made, but only in the tree's own memory: nothing is ever made on the host.
func openOrMake(path string, dir bool) (int, error) {
	fd, _, err := openOrMakeBelow(path, dir, maxDepth)
	return fd, err
}

// makeDir makes a directory of the tree, as openOrMake does.
func makeDir(path string) error {
	fd, err := openOrMake(path, true)
	if err == nil {
		syscall.Close(fd)
	}
	return err
}

// openOrMakeBelow is openOrMake for a path of so many elements. made says that
// the last one was made, so that what is made in it needs no look at the file
// system.
func openOrMakeBelow(path string, dir bool, depth int) (fd int, made bool, err error) {
	up, name := splitPath(path)
	known := lastFolder.path == up && path != "/"
	if known {
		fd, err = openPath(lastFolder.fd, name, 0)
	} else {
		fd, err = openPath(atFDCWD, path, 0)
	}
	if err != syscall.ENOENT || path == "/" {
		return fd, false, err
	}
	if depth == 0 {
		return -1, false, errors.New("the path is too deep")
	}
	parent, ours := lastFolder.fd, false
	if !known {
		if parent, ours, err = openOrMakeBelow(up, true, depth-1); err != nil {
			return -1, false, err
		}
		defer syscall.Close(parent)
	}
	if !ours {
		if err := checkOwnMemory(parent); err != nil {
			return -1, false, err
		}
	}
	if dir {
		err = syscall.Mkdirat(parent, name, 0o755)
	} else {
		err = syscall.Mknodat(parent, name, syscall.S_IFREG|0o644, 0)
	}
	if err != nil {
		return -1, false, err
	}
	fd, err = openPath(parent, name, 0)
	return fd, true, err
}

// openFolder is a directory of the tree that stays open.
type openFolder struct {
	path string // empty when there is none
	fd   int
}

// lastFolder is the folder in which a file or link was made last: most steps
// follow others in the same directory.
var lastFolder openFolder

// switchTo opens a directory, which is made when it may be.
func (f *openFolder) switchTo(path string) (fd int, err error) {
	if f.path == path {
		return f.fd, nil
	}
	if fd, err = openOrMake(path, true); err != nil {
		return -1, err
	}
	f.closeBelow("/")
	f.path, f.fd = path, fd
	return fd, nil
}

// closeBelow closes the directory when it is the one at a path or lies below it,
// where something is being mounted.
func (f *openFolder) closeBelow(path string) {
	below := path == "/" || f.path == path || len(f.path) > len(path) && f.path[:len(path)] == path && f.path[len(path)] == '/'
	if f.path == "" || !below {
		return
	}
	syscall.Close(f.fd)
	*f = openFolder{}
}

// splitPath cuts a clean absolute path before its last element.
func splitPath(path string) (dir, name string) {
	i := len(path) - 1
	for i > 0 && path[i] != '/' {
		i--
	}
	if i <= 0 {
		return "/", path[min(1, len(path)):]
	}
	return path[:i], path[i+1:]
}

// memory is the devices of the file systems that this helper has mounted for
// itself.
var memory []uint64

// recordOwnMemory records that the file system at a path is this helper's.
func recordOwnMemory(path string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return err
	}
	memory = append(memory, st.Dev)
	return nil
}

// checkOwnMemory returns an error for a directory of the host.
func checkOwnMemory(fd int) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	for _, dev := range memory {
		if dev == st.Dev {
			return nil
		}
	}
	return errors.New("a mount point is missing on the host")
}

func procFD(fd int) string { return "/proc/self/fd/" + formatDecimal(int64(fd)) }

// formatOctal writes permission bits.
func formatOctal(mode uint32) string {
	var b [5]byte
	for i := range b {
		b[i] = '0' + byte(mode>>(3*(len(b)-1-i))&7)
	}
	return string(b[:])
}
