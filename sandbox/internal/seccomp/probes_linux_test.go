package seccomp

import (
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probes are calls to be made under the filter.
var probes = map[string]func() unix.Errno{
	"execveat empty path": func() unix.Errno {
		real, _ := filepath.EvalSymlinks("/bin/true")
		fd, err := unix.Open(real, unix.O_PATH, 0)
		if err != nil {
			return err.(unix.Errno)
		}
		return call(unix.SYS_EXECVEAT, uintptr(fd), text(""), argv(), 0, unix.AT_EMPTY_PATH)
	},
	"execveat below directory": func() unix.Errno {
		fd, err := unix.Open("/bin", unix.O_PATH, 0)
		if err != nil {
			return err.(unix.Errno)
		}
		return call(unix.SYS_EXECVEAT, uintptr(fd), text("true"), argv(), 0, 0)
	},
	"execve of nothing":     func() unix.Errno { return call(unix.SYS_EXECVE, 8, argv(), 0) },
	"execve of a long path": func() unix.Errno { return call(unix.SYS_EXECVE, text(strings.Repeat("/x", 5000)), argv(), 0) },
	"execve of a link":      func() unix.Errno { return call(unix.SYS_EXECVE, text("/link"), argv(), 0) },
	"wait": func() unix.Errno {
		unix.Pause()
		return 0
	},
}

// kept keeps the memory of arguments alive.
var kept []any

// text is a C string.
func text(s string) uintptr {
	b := append([]byte(s), 0)
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// argv is an argument vector.
func argv() uintptr {
	v := &[2]uintptr{text("probe"), 0}
	kept = append(kept, v)
	return uintptr(unsafe.Pointer(v))
}

// call makes one system call.
func call(nr uintptr, args ...uintptr) unix.Errno {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5])
	if nr == unix.SYS_CLONE && errno == 0 && r == 0 {
		// A child that the filter should have prevented.
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 1, 0, 0)
	}
	return errno
}
