package helper

import (
	"errors"
	"syscall"
)

// detached are mounts that the runtime has made, in the order in which they came.
type detached []int

// trees are those of the message whose steps are being carried out.
var trees detached

// add takes the mounts of one packet.
func (d *detached) add(fds []int) error {
	if len(fds) == 0 || len(*d)+len(fds) > MaxAllTrees {
		return errors.New("the message brings " + decimal(int64(len(fds))) + " mounts after " + decimal(int64(len(*d))))
	}
	*d = append(*d, fds...)
	return nil
}

// number returns the mount of a number, from 1 on.
func (d detached) number(n int) (fd int, err error) {
	if n < 1 || n > len(d) {
		return -1, errors.New("there is no mount with the number " + decimal(int64(n)))
	}
	return d[n-1], nil
}

// close lets go of what was not attached.
func (d *detached) close() {
	for _, fd := range *d {
		syscall.Close(fd)
	}
	*d = nil
}

// attachTree shows the detached mount of a step at a path.
func (op *Op) attachTree(path string) error {
	tree, err := trees.number(op.Tree)
	if err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(tree, &st); err != nil {
		return err
	}
	return attach(tree, path, st.Mode&syscall.S_IFMT == syscall.S_IFDIR)
}
