package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lots is more than any structure that a probe hands over.
var lots [256]byte

func block() uintptr { return uintptr(unsafe.Pointer(&lots)) }

// gives makes a call that returns an object when it is allowed.
func gives(seen string, call uintptr, args ...uintptr) func(*Target) (string, error) {
	return func(*Target) (string, error) {
		var a [6]uintptr
		copy(a[:], args)
		_, _, errno := unix.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5])
		return result(seen, errno)
	}
}

var kernelAttacks = []attack{
	{"io_uring", func(*Target) (string, error) {
		// The memory of rings that were closed comes back late.
		for range 40 {
			_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, block(), 0)
			if errno != unix.ENOMEM {
				return result("a ring", errno)
			}
			time.Sleep(50 * time.Millisecond)
		}
		return "", unix.ENOMEM
	}},
	{"keyrings", gives("the session keyring", unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(2), 1)},
	{"userfaultfd", gives("a descriptor", unix.SYS_USERFAULTFD, 1)},
	{"bpf", func(*Target) (string, error) {
		// A map of one element: type, key size, value size, entries.
		attr := [18]uint32{2, 4, 4, 1}
		_, _, errno := unix.Syscall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return result("a map", errno)
	}},
	{"perf_event_open", func(*Target) (string, error) {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Bits: unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
		attr.Size = uint32(unsafe.Sizeof(attr))
		_, err := unix.PerfEventOpen(&attr, 0, -1, -1, 0)
		return "a counter", err
	}},
	{"kernel log", func(*Target) (string, error) {
		_, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, make([]byte, 4096))
		return "it was read", err
	}},
	{"clone3", func(*Target) (string, error) {
		// The kernel that has the call complains about the size.
		_, _, errno := unix.Syscall(unix.SYS_CLONE3, block(), 1, 0)
		if errno == unix.EINVAL {
			return "the call is there", nil
		}
		return "", errno
	}},
	{"nested user namespace by clone", func(*Target) (string, error) {
		return namespaced(&syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER})
	}},
	{"nested user namespace by unshare", func(*Target) (string, error) {
		return namespaced(&syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWUSER})
	}},
	{"namespaces of the runtime", func(t *Target) (string, error) {
		fd, err := unix.Open(t.proc("ns/uts"), unix.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		return "entered", unix.Setns(fd, unix.CLONE_NEWUTS)
	}},
	{"mount", func(t *Target) (string, error) {
		// Over an empty folder, in the namespace that the attack has or gets.
		dir := t.ws("mountpoint")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", 0, ""); err != nil {
			return "", err
		}
		return "mounted", unix.Unmount(dir, 0)
	}},
	{"lift a mask with umount", func(t *Target) (string, error) {
		if err := unix.Unmount(t.ws(".ssh"), unix.MNT_DETACH); err != nil {
			return "", err
		}
		return holds(os.ReadFile(t.ws(".ssh/id_rsa")))
	}},
	{"chroot", func(t *Target) (string, error) { return "entered", unix.Chroot(t.ws("")) }},
	{"pivot_root", func(*Target) (string, error) {
		err := unix.PivotRoot("/nowhere", "/nowhere")
		if errors.Is(err, unix.ENOENT) {
			return "only the path was wrong", nil
		}
		return "", err
	}},
	{"shared memory of the host", func(t *Target) (string, error) {
		data, err := unix.SysvShmAttach(t.Shared, 0, unix.SHM_RDONLY)
		return holds(data, err)
	}},
	{"run a program from the write reach", func(t *Target) (string, error) {
		if err := copySelf(t.ws("dropped")); err != nil {
			return "", err
		}
		return answers(t.ws("dropped"), "hello")
	}},
	{"run it through the loader", func(t *Target) (string, error) {
		if err := copyFile("/usr/bin/echo", t.ws("echo")); err != nil {
			return "", err
		}
		return answers("/lib64/ld-linux-x86-64.so.2", t.ws("echo"), secret)
	}},
	{"run a program from private /tmp", func(*Target) (string, error) {
		dir, err := os.MkdirTemp("/tmp", "hostile")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(dir)
		if err := copySelf(dir + "/x"); err != nil {
			return "", err
		}
		return answers(dir+"/x", "hello")
	}},
	{"run a program from memory", func(*Target) (string, error) {
		fd, err := unix.MemfdCreate("x", 0)
		if err != nil {
			return "", err
		}
		path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd)
		if err := copySelf(path); err != nil {
			return "", err
		}
		return answers(path, "hello")
	}},
}

// namespaced starts a process in a namespace of its own.
func namespaced(attr *syscall.SysProcAttr) (string, error) {
	cmd := exec.Command("/proc/self/exe", "hello")
	cmd.SysProcAttr = attr
	return "made", cmd.Run()
}

func copySelf(to string) error { return copyFile("/proc/self/exe", to) }

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
