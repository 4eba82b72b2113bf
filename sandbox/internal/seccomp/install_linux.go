package seccomp

import (
	"errors"
	"os"
	"syscall"

	"github.com/sallyport/sallyport/sandbox/internal/seccomp/install"
)

// Install puts the filter on the calling thread, as [install.Install] does.
// The receiver of a listener hands it to [NewListener].
func Install(p Program, listener bool) (fd int, err error) {
	fd, err = install.Install(p.Encode(), listener)
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = os.NewSyscallError("seccomp", errno)
	}
	return fd, err
}
