package main

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memory is what a reader of the victim's memory finds.
var memory = []byte(secret)

// victim is a process with a secret in its memory, its environment, its
// arguments and behind a descriptor. It says where.
func victim() {
	f, err := os.CreateTemp("", "victim")
	if err != nil {
		panic(err)
	}
	_ = os.Remove(f.Name())
	if _, err := f.WriteString(secret); err != nil {
		panic(err)
	}
	fmt.Println(uintptr(unsafe.Pointer(&memory[0])), f.Fd())
	// It ends with its standard input.
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func (t *Target) proc(name string) string { return fmt.Sprintf("/proc/%d/%s", t.Victim, name) }

var processAttacks = []attack{
	{"signal to the runtime", func(t *Target) (string, error) { return "it may", unix.Kill(t.Victim, 0) }},
	{"ptrace of the runtime", func(t *Target) (string, error) {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(t.Victim), 0, 0, 0, 0)
		return result("it is traced", errno)
	}},
	{"process_vm_readv of the runtime", func(t *Target) (string, error) {
		buf := make([]byte, len(secret))
		local := []unix.Iovec{{Base: &buf[0], Len: uint64(len(buf))}}
		_, err := unix.ProcessVMReadv(t.Victim, local, []unix.RemoteIovec{{Base: t.Address, Len: len(buf)}}, 0)
		return holds(buf, err)
	}},
	{"pidfd_getfd from the runtime", func(t *Target) (string, error) {
		pidfd, err := unix.PidfdOpen(t.Victim, 0)
		if err != nil {
			return "", err
		}
		fd, err := unix.PidfdGetfd(pidfd, t.VictimFD, 0)
		if err != nil {
			return "", err
		}
		buf := make([]byte, 64)
		n, err := unix.Pread(fd, buf, 0)
		return holds(buf[:max(n, 0)], err)
	}},
	{"environment of the runtime", func(t *Target) (string, error) { return holds(os.ReadFile(t.proc("environ"))) }},
	{"arguments of the runtime", func(t *Target) (string, error) { return holds(os.ReadFile(t.proc("cmdline"))) }},
	{"memory of the runtime", func(t *Target) (string, error) {
		f, err := os.Open(t.proc("mem"))
		if err != nil {
			return "", err
		}
		buf := make([]byte, len(secret))
		_, err = f.ReadAt(buf, int64(t.Address))
		return holds(buf, err)
	}},
	{"descriptors of the runtime", func(t *Target) (string, error) {
		return holds(os.ReadFile(t.proc(fmt.Sprintf("fd/%d", t.VictimFD))))
	}},
	{"root of the runtime", func(t *Target) (string, error) {
		return holds(os.ReadFile(t.proc("root") + t.outside("secret")))
	}},
	{"inherited descriptor", func(*Target) (string, error) {
		buf := make([]byte, 64)
		n, err := unix.Pread(200, buf, 0)
		return holds(buf[:max(n, 0)], err)
	}},
	{"hold a capability", func(*Target) (string, error) {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var sets [2]unix.CapUserData
		if err := unix.Capget(&header, &sets[0]); err != nil {
			return "", err
		}
		if sets[0].Effective|sets[1].Effective == 0 {
			return "", errors.New("it has none")
		}
		return fmt.Sprintf("capabilities %x", sets[0].Effective), nil
	}},
	{"more processes than the limit", func(t *Target) (string, error) {
		n := 0
		for ; n < 2*t.Processes; n++ {
			p, err := os.StartProcess("/proc/self/exe", []string{"hostile", "victim", "x"}, &os.ProcAttr{Files: idle()})
			if err != nil {
				return "", err
			}
			defer p.Kill()
		}
		return fmt.Sprintf("%d processes", n), nil
	}},
}

// idle is a standard input that never ends while this process lives.
func idle() []*os.File {
	r, _, err := os.Pipe()
	if err != nil {
		return nil
	}
	return []*os.File{r}
}

func result(seen string, errno unix.Errno) (string, error) {
	if errno != 0 {
		return "", errno
	}
	return seen, nil
}
