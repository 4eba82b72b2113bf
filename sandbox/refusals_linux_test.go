package sandbox

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp/install"
)

// faultOf returns the fault that a case simulates in the runtime process.
func faultOf(c *processCase) string {
	for name := range faults {
		if c.Simulate[name] != nil {
			return name
		}
	}
	return ""
}

// faults put what a host may refuse in front of the next program.
var faults = map[string]func() error{
	"landlock_restrict_self": stackRulesets,
	"prctl_no_new_privs": func() error {
		return refuse(refusal{unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS})
	},
	// Ubuntu's AppArmor gives a user namespace without capabilities: making
	// it works, mounting in it does not.
	"userns": func() error {
		return refuse(refusal{unix.SYS_MOUNT, -1}, refusal{unix.SYS_OPEN_TREE, -1}, refusal{unix.SYS_FSOPEN, -1},
			refusal{unix.SYS_PIVOT_ROOT, -1})
	},
}

// stackRulesets restricts this thread as often as the kernel lets it
// (LANDLOCK_MAX_NUM_LAYERS). The rulesets handle a scope and no files, so that
// mounting goes on to work.
func stackRulesets() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	attr := struct{ fs, net, scoped uint64 }{scoped: 1}
	for n := 0; ; n++ {
		fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
		if errno != 0 {
			return errno
		}
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
		unix.Close(int(fd))
		if errno == unix.E2BIG && n == 16 {
			return nil
		}
		if errno != 0 {
			return fmt.Errorf("ruleset %d: %w", n, errno)
		}
	}
}

// refusal is a call that is answered EPERM, or only with this first argument.
type refusal struct{ call, first int }

// refuse installs a filter that refuses calls on this thread.
func refuse(list ...refusal) error {
	var prog []bpf.Instruction
	for _, r := range list {
		prog = append(prog, bpf.LoadAbsolute{Off: 0, Size: 4})
		if r.first < 0 {
			prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.call), SkipTrue: 1})
		} else {
			prog = append(prog, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.call), SkipTrue: 3},
				bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(r.first), SkipTrue: 1})
		}
		prog = append(prog, bpf.RetConstant{Val: 0x0005_0000 | uint32(unix.EPERM)}) // SECCOMP_RET_ERRNO
	}
	raw, err := bpf.Assemble(append(prog, bpf.RetConstant{Val: 0x7fff_0000})) // SECCOMP_RET_ALLOW
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, err = install.Install(seccomp.Program(raw).Encode(), false)
	return err
}
