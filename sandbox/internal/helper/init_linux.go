//go:build amd64 || arm64

package helper

import (
	"errors"
	"runtime"
	"syscall"
	"unsafe"
)

// An init is the first process of a child's namespace. The kernel lets the first
// process end by a signal from outside only, and gives it every orphan to wait
// for (pid_namespaces(7)), which few programs expect. So the helper starts the
// program as a process of its own and then becomes the init: a program of one
// page that waits, and ends as the program does. It has no descriptor, no heap
// and one thread, and is held like the program: Landlock, the filter and the lack
// of capabilities stay over an execve.

// initEntry is in init_GOARCH.s; initAddress returns where it begins.
func initAddress() *byte

// The file of the init: headers of an executable of 64 bits, and the code behind
// them (elf(5)).
const (
	elfHeaderLen  = 64
	elfSegmentLen = 56
	initCodeAt    = elfHeaderLen + 2*elfSegmentLen
	// initCodeLen is no less than initEntry has; what follows it never runs.
	initCodeLen = 256
	initLen     = initCodeAt + initCodeLen
	initBase    = 0x400000

	elfExecutable   = 2
	elfLoad         = 1
	elfStack        = 0x6474e551
	elfRead         = 4
	elfReadExecute  = 5
	elfReadWrite    = 6
	elfMachineAMD64 = 62
	elfMachineARM64 = 183
	pageLen         = 0x10000 // the largest of arm64
)

// initFile makes the file of the init.
func initFile() []byte {
	machine := uint16(elfMachineAMD64)
	if runtime.GOARCH == "arm64" {
		machine = elfMachineARM64
	}
	var b []byte
	number := func(v uint64, bytes int) {
		for i := range bytes {
			b = append(b, byte(v>>(8*i)))
		}
	}
	b = append(b, 0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	number(elfExecutable, 2)
	number(uint64(machine), 2)
	number(1, 4)
	number(initBase+initCodeAt, 8) // where it begins
	number(elfHeaderLen, 8)        // where the segments are
	number(0, 8)
	number(0, 4)
	number(elfHeaderLen, 2)
	number(elfSegmentLen, 2)
	number(2, 2)
	number(0, 6)
	segment := func(kind, flags uint64, at, size, align uint64) {
		number(kind, 4)
		number(flags, 4)
		number(0, 8)
		number(at, 8)
		number(at, 8)
		number(size, 8)
		number(size, 8)
		number(align, 8)
	}
	segment(elfLoad, elfReadExecute, initBase, initLen, pageLen)
	segment(elfStack, elfReadWrite, 0, 0, 16)
	code := unsafe.Slice(initAddress(), initCodeLen)
	return append(b, code...)
}

// Flags of memfd_create(2).
const (
	mfdCloexec = 1
	mfdExec    = 0x10
)

// openInit makes the init's file in memory. It needs no place in a tree, and what
// is not in a tree needs no rule.
func openInit() (int, error) {
	name, err := syscall.BytePtrFromString("sallyport-init")
	if err != nil {
		return -1, err
	}
	fd, _, errno := syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(name)), mfdCloexec|mfdExec, 0)
	if errno == syscall.EINVAL {
		// Before Linux 6.3 every such file could be executed.
		fd, _, errno = syscall.Syscall(sysMemfdCreate, uintptr(unsafe.Pointer(name)), mfdCloexec, 0)
	}
	if errno != 0 {
		return -1, wrapError("init: file in memory", errno)
	}
	file := initFile()
	if n, err := syscall.Write(int(fd), file); err != nil || n != len(file) {
		syscall.Close(int(fd))
		return -1, wrapError("init: file in memory", errors.Join(err, errors.New("it was not written")))
	}
	return int(fd), nil
}

// spawnProgram starts the program below this process, which then becomes its
// init. The program gets the standard streams of this process and further files. It
// returns only when something failed.
func spawnProgram(base *Base, spec *Spec, further []int, init int) error {
	if err := shieldInit(); err != nil {
		return err
	}
	files := []uintptr{0, 1, 2}
	for _, fd := range further {
		files = append(files, uintptr(fd))
	}
	pidfd := -1
	pid, err := syscall.ForkExec(spec.Path, spec.Argv, &syscall.ProcAttr{
		Env: spec.Env, Files: files,
		// In a session of its own it cannot join the group of the init. An
		// observed program stays in the one of its terminal.
		Sys: &syscall.SysProcAttr{Setsid: !base.HostTree, PidFD: &pidfd},
	})
	if err != nil {
		return wrapError("execute "+spec.Path, err)
	}
	if pidfd < 0 {
		return errors.New("init: this kernel gives no pidfd")
	}
	if err := sendMessage(MsgProgram, pidfd); err != nil {
		return err
	}
	// The init keeps nothing, so that the program's streams end with those who
	// use them.
	if err := closeOnExec(0); err != nil {
		return wrapError("descriptors", err)
	}
	return wrapError("init", execInit(init, formatDecimal(int64(pid))))
}

// shieldInit closes this process to the program, which may run before the init
// does: no process can trace it or read its memory, and signals do nothing. The usual
// action of a signal would not do: while the fork holds signals back, the
// kernel gives one to another thread, and that ends even the first process of a
// namespace. In the child, the fork puts back the usual action of what Go has
// handlers for.
func shieldInit() error {
	if err := prctl(prSetDumpable, 0, 0); err != nil {
		return wrapError("init: dumpable", err)
	}
	for s := uintptr(1); s <= lastSignal; s++ {
		var action sigaction
		if err := setAction(s, nil, &action); err != nil || action.handler <= actionIgnore {
			continue
		}
		action = sigaction{handler: actionIgnore}
		if syscall.Signal(s) == syscall.SIGCHLD {
			action.handler = actionUsual // ignored, nothing would be left to wait for
		}
		if err := setAction(s, &action, nil); err != nil {
			return wrapError("init: signal "+formatDecimal(int64(s)), err)
		}
	}
	return nil
}

// sigaction is struct kernel_sigaction, long enough for each architecture.
type sigaction struct{ handler, flags, restorer, mask uint64 }

// setAction calls rt_sigaction(2); what is nil is left out.
func setAction(signal uintptr, action, old *sigaction) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, signal, uintptr(unsafe.Pointer(action)),
		uintptr(unsafe.Pointer(old)), signalSetLen, 0, 0)
	return errnoError(errno)
}

const (
	actionUsual  = 0
	actionIgnore = 1

	lastSignal   = 64
	signalSetLen = 8
)

// execInit becomes the init of a process. It returns only when it failed.
func execInit(fd int, pid string) error {
	argv, err := syscall.SlicePtrFromStrings([]string{"sallyport-init", pid})
	if err != nil {
		return err
	}
	var empty byte
	var none *byte
	_, _, errno := syscall.RawSyscall6(sysExecveat, uintptr(fd), uintptr(unsafe.Pointer(&empty)),
		uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&none)), atEmptyPath, 0)
	return errno
}
