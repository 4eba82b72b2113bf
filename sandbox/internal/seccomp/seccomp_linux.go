// Package seccomp builds the system call filter of confined children. It is an
// allow list: a call that is not in the table, such as one of a kernel newer
// than this source, is answered ENOSYS.
//
// [Assemble] makes the program, which the runtime sends to its helper; package
// install puts it on the helper's thread just before the target is executed;
// [Listener] is the runtime's end of the notifications.
//
// The filter sees numbers and argument words, never what a pointer points at,
// so it decides nothing about paths and addresses: mounts, Landlock and the
// network namespace do. Arguments that the kernel takes as 32 bits are compared
// as 32 bits, since the kernel ignores the rest (CVE-2019-7303 was a comparison
// of 64).
package seccomp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/net/bpf"
)

//go:generate go run gen.go

// Options choose what a child may do. The zero value is the narrowest: no
// network, no System V IPC, no notification.
type Options struct {
	// Network lets the child make IPv4 and IPv6 sockets. It is for children
	// in a network namespace of their own, which has loopback only.
	Network bool
	// IPC lets the child use System V IPC and POSIX message queues. It is for
	// children in an IPC namespace of their own; without one they would meet
	// the objects of the host.
	IPC bool
	// Sessions lets the child make sessions and process groups. It is for
	// children in a process namespace of their own, which ends with its first
	// process; without one, the process group is all that can be killed.
	Sessions bool
	// Notify asks for a notification of execve and execveat. The process that installs
	// the filter must then have a [Listener] running until the last filtered
	// process is gone: without one these calls fail with ENOSYS.
	Notify bool
	// Inotify lets the child watch files. It is for children whose user
	// namespace bounds how many instances and watches they have.
	Inotify bool
	// CountWatches asks for a notification of each watch that is added to an
	// epoll instance; see [Listener.Count]. It is for children that share the
	// user of the runtime.
	CountWatches bool
	// Watch replaces the policy: everything is allowed, and the calls that name
	// files, programs or peers are notified. Only io_uring is refused, as absent, because
	// what it opens could not be seen. The other options do nothing then.
	Watch bool
}

// Program is a filter as the kernel takes it: the instructions have the layout
// of struct sock_filter.
type Program []bpf.RawInstruction

// maxInstructions is BPF_MAXINSNS of linux/bpf_common.h.
const maxInstructions = 4096

// ErrNotSupported is returned on systems and architectures without a filter.
var ErrNotSupported = errors.New("no system call filter for this system and architecture")

// Assemble returns the filter for the architecture that this program was
// built for. The error matches [ErrNotSupported] where there is no table.
func Assemble(o Options) (Program, error) {
	m, ok := machines[runtime.GOARCH]
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNotSupported, runtime.GOARCH)
	}
	return m.assembleFilter(o)
}

// Encode returns the program as bytes, in the byte order of the machine on
// which it was assembled.
func (p Program) Encode() []byte {
	var b []byte
	for _, in := range p {
		b = binary.NativeEndian.AppendUint16(b, in.Op)
		b = append(b, in.Jt, in.Jf)
		b = binary.NativeEndian.AppendUint32(b, in.K)
	}
	return b
}
