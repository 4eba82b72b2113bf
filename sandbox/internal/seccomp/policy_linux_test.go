package seccomp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// arches are both supported architectures: the table is checked for the one
// that this test does not run on too.
var arches = []string{"amd64", "arm64"}

// full are the options of a child in its own namespaces.
var full = Options{Network: true, IPC: true, Sessions: true}

// argumentCases are the decisions by argument, and one case of each reason
// for a refusal. The same list is tried on the kernel.
var argumentCases = []struct {
	call string
	o    Options
	args [6]uint64
	want string
}{
	{"execve", full, [6]uint64{}, "allow"},
	{"execve", Options{Notify: true}, [6]uint64{}, "notify"},
	{"execveat", Options{Notify: true}, [6]uint64{}, "notify"},
	{"execveat", full, [6]uint64{}, "allow"},

	{"epoll_ctl", full, [6]uint64{3, 1, 4}, "allow"},
	{"epoll_ctl", Options{CountWatches: true}, [6]uint64{3, 1, 4}, "notify"},
	{"epoll_ctl", Options{CountWatches: true}, [6]uint64{3, 1<<32 | 1, 4}, "notify"},
	{"epoll_ctl", Options{CountWatches: true}, [6]uint64{3, 2, 4}, "allow"}, // EPOLL_CTL_DEL
	{"epoll_ctl", Options{CountWatches: true}, [6]uint64{3, 3, 4}, "allow"}, // EPOLL_CTL_MOD
	{"inotify_init1", full, [6]uint64{}, "EMFILE"},
	{"inotify_init1", Options{Inotify: true}, [6]uint64{}, "allow"},

	{"shmget", full, [6]uint64{}, "allow"},
	{"shmget", Options{Network: true}, [6]uint64{}, "ENOSYS"},
	{"msgsnd", Options{Network: true}, [6]uint64{}, "ENOSYS"},
	{"mq_open", Options{Network: true}, [6]uint64{}, "ENOSYS"},
	{"mq_open", full, [6]uint64{}, "allow"},

	{"renameat2", full, [6]uint64{0, 0, 0, 0, 0}, "allow"},
	{"renameat2", full, [6]uint64{0, 0, 0, 0, 2}, "allow"},  // RENAME_EXCHANGE
	{"renameat2", full, [6]uint64{0, 0, 0, 0, 4}, "EINVAL"}, // RENAME_WHITEOUT
	{"renameat2", full, [6]uint64{0, 0, 0, 0, 5}, "EINVAL"},
	{"io_setup", full, [6]uint64{1}, "ENOSYS"},
	{"clone", full, [6]uint64{17}, "allow"},
	{"clone", full, [6]uint64{0x3d0f00}, "allow"},          // pthread_create of glibc
	{"clone", full, [6]uint64{0x4111}, "allow"},            // CLONE_VFORK|CLONE_VM|SIGCHLD
	{"clone", full, [6]uint64{0x1011}, "allow"},            // CLONE_PIDFD
	{"clone", full, [6]uint64{0x3d0f00 &^ 0x400}, "EPERM"}, // a thread without CLONE_FILES
	{"clone", full, [6]uint64{0x00020000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x02000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x04000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x08000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x10000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x20000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x40000000 | 17}, "EPERM"},
	{"clone", full, [6]uint64{0x00008000 | 17}, "EPERM"}, // CLONE_PARENT
	{"clone", full, [6]uint64{1<<32 | 0x10000000}, "EPERM"},

	{"socket", full, [6]uint64{2, 1, 0}, "allow"},
	{"socket", full, [6]uint64{2, 1, 6}, "allow"},
	{"socket", full, [6]uint64{10, 1 | 0x80000 | 0x800, 6}, "allow"},
	{"socket", full, [6]uint64{10, 2, 0}, "allow"},
	{"socket", full, [6]uint64{2, 2 | 0x80000, 17}, "allow"},
	{"socket", full, [6]uint64{2, 1, 262}, "EPROTONOSUPPORT"}, // MPTCP
	{"socket", full, [6]uint64{2, 1, 132}, "EPROTONOSUPPORT"}, // SCTP
	{"socket", full, [6]uint64{2, 2, 1}, "EPROTONOSUPPORT"},   // ping
	{"socket", full, [6]uint64{2, 2, 136}, "EPROTONOSUPPORT"}, // UDP-Lite
	{"socket", full, [6]uint64{2, 1, 17}, "EPROTONOSUPPORT"},
	{"socket", full, [6]uint64{2, 3, 1}, "EPERM"},       // raw
	{"socket", full, [6]uint64{2, 3, 255}, "EPERM"},     // raw
	{"socket", full, [6]uint64{10, 5, 132}, "EPERM"},    // SCTP, seqpacket
	{"socket", full, [6]uint64{2, 6, 33}, "EPERM"},      // DCCP
	{"socket", full, [6]uint64{2, 10, 768}, "EPERM"},    // SOCK_PACKET
	{"socket", full, [6]uint64{1, 1}, "EAFNOSUPPORT"},   // unix
	{"socket", full, [6]uint64{1, 2}, "EAFNOSUPPORT"},   // unix
	{"socket", full, [6]uint64{0, 1}, "EAFNOSUPPORT"},   // unspecified
	{"socket", full, [6]uint64{16, 3}, "EAFNOSUPPORT"},  // netlink
	{"socket", full, [6]uint64{17, 3}, "EAFNOSUPPORT"},  // packet
	{"socket", full, [6]uint64{38, 5}, "EAFNOSUPPORT"},  // alg
	{"socket", full, [6]uint64{40, 1}, "EAFNOSUPPORT"},  // vsock
	{"socket", full, [6]uint64{44, 3}, "EAFNOSUPPORT"},  // xdp
	{"socket", full, [6]uint64{255, 1}, "EAFNOSUPPORT"}, // none yet
	{"socket", full, [6]uint64{1<<32 | 1, 1}, "EAFNOSUPPORT"},
	{"socket", full, [6]uint64{2, 1<<32 | 3, 0}, "EPERM"},
	{"socket", full, [6]uint64{2, 1, 1<<32 | 262}, "EPROTONOSUPPORT"},
	{"setsid", full, [6]uint64{}, "allow"},
	{"setsid", Options{}, [6]uint64{}, "EPERM"},
	{"setpgid", Options{}, [6]uint64{0, 0}, "EPERM"},
	{"socket", Options{IPC: true}, [6]uint64{2, 1, 0}, "EPERM"},
	{"socket", Options{IPC: true}, [6]uint64{10, 2, 0}, "EPERM"},
	{"socket", Options{IPC: true}, [6]uint64{1<<32 | 2, 1, 0}, "EPERM"},
	{"socket", Options{IPC: true}, [6]uint64{1, 1, 0}, "EAFNOSUPPORT"},

	{"socketpair", Options{}, [6]uint64{1, 1}, "allow"},
	{"socketpair", Options{}, [6]uint64{1, 1 | 0x80800}, "allow"},
	{"socketpair", Options{}, [6]uint64{1, 5}, "allow"},
	{"socketpair", full, [6]uint64{1, 2}, "EPERM"},
	{"socketpair", full, [6]uint64{1, 3}, "EPERM"}, // becomes a datagram socket
	{"socketpair", full, [6]uint64{1, 1<<32 | 2}, "EPERM"},
	{"socketpair", full, [6]uint64{30, 1}, "EAFNOSUPPORT"}, // TIPC
	{"socketpair", full, [6]uint64{2, 1}, "EAFNOSUPPORT"},

	{"sendto", full, [6]uint64{3, 4096, 1, 0x4000}, "allow"},
	{"sendto", full, [6]uint64{3, 4096, 1, 0x20000000}, "EOPNOTSUPP"},
	{"sendto", full, [6]uint64{3, 4096, 1, 0x20004000, 4096, 16}, "EOPNOTSUPP"},
	{"sendto", full, [6]uint64{3, 4096, 1, 1<<32 | 0x20000000}, "EOPNOTSUPP"},
	{"sendto", full, [6]uint64{3, 4096, 1, 0, 4096, 16}, "EPERM"},
	{"sendto", full, [6]uint64{3, 4096, 1, 0, 1 << 32, 16}, "EPERM"},
	{"sendmsg", full, [6]uint64{3, 4096, 0x4000}, "allow"},
	{"sendmsg", full, [6]uint64{3, 4096, 0x20000000}, "EOPNOTSUPP"},
	{"sendmmsg", full, [6]uint64{3, 4096, 0x20000000, 0x4000}, "allow"},
	{"sendmmsg", full, [6]uint64{3, 4096, 1, 0x20000000}, "EOPNOTSUPP"},

	{"ioctl", full, [6]uint64{0, 0x5401}, "allow"}, // TCGETS
	{"ioctl", full, [6]uint64{0, 0x5412}, "EPERM"},
	{"ioctl", full, [6]uint64{0, 0x541c}, "EPERM"},
	{"ioctl", full, [6]uint64{0, 0x541d}, "EPERM"},
	{"ioctl", full, [6]uint64{0, 0x5423}, "EPERM"},
	{"ioctl", full, [6]uint64{0, 1<<32 | 0x5412}, "EPERM"}, // CVE-2019-7303
	{"ioctl", full, [6]uint64{0, 1<<63 | 0x5412}, "EPERM"},

	{"mknodat", full, [6]uint64{0, 0, 0o644}, "allow"},
	{"mknodat", full, [6]uint64{0, 0, 0x8000 | 0o644}, "allow"},
	{"mknodat", full, [6]uint64{0, 0, 0x1000 | 0o644}, "allow"},
	{"mknodat", full, [6]uint64{0, 0, 0xc000 | 0o644}, "allow"},
	{"mknodat", full, [6]uint64{0, 0, 0x2000 | 0o644}, "EPERM"},
	{"mknodat", full, [6]uint64{0, 0, 0x6000 | 0o644}, "EPERM"},
	{"mknodat", full, [6]uint64{0, 0, 0x10000 | 0x6000}, "EPERM"}, // the kernel takes 16 bits
	{"mknod", full, [6]uint64{0, 0x1000}, "allow"},
	{"mknod", full, [6]uint64{0, 0x2000}, "EPERM"},
	{"mknod", full, [6]uint64{0, 0x6000}, "EPERM"},

	{"mknodat", full, [6]uint64{0, 0, 0x8000 | 0o4755}, "EPERM"},
	{"mknod", full, [6]uint64{0, 0o2755}, "EPERM"},

	{"chmod", full, [6]uint64{0, 0o1777}, "allow"},
	{"chmod", full, [6]uint64{0, 0o4755}, "EPERM"},
	{"chmod", full, [6]uint64{0, 0o2755}, "EPERM"},
	{"chmod", full, [6]uint64{0, 0x10000 | 0o4755}, "EPERM"}, // the kernel takes 16 bits
	{"fchmod", full, [6]uint64{1 << 20, 0o755}, "allow"},
	{"fchmod", full, [6]uint64{1 << 20, 0o6755}, "EPERM"}, // not a descriptor of the test
	{"fchmodat", full, [6]uint64{0, 0, 0o755}, "allow"},
	{"fchmodat", full, [6]uint64{0, 0, 0o4755}, "EPERM"},
	{"fchmodat", full, [6]uint64{0, 0, 1<<32 | 0o4755}, "EPERM"},
	{"fchmodat2", full, [6]uint64{0, 0, 0o755}, "allow"},
	{"fchmodat2", full, [6]uint64{0, 0, 0o2711}, "EPERM"},
	{"creat", full, [6]uint64{0, 0o755}, "allow"},
	{"creat", full, [6]uint64{0, 0o4755}, "EPERM"},
	{"mkdir", full, [6]uint64{0, 0o1777}, "allow"},
	{"mkdir", full, [6]uint64{0, 0o2755}, "EPERM"},
	{"mkdirat", full, [6]uint64{0, 0, 0o777}, "allow"},
	{"mkdirat", full, [6]uint64{0, 0, 0o2777}, "EPERM"},
	{"open", full, [6]uint64{0, 0, 0o4755}, "allow"}, // no new file, no mode
	{"open", full, [6]uint64{0, 0x41, 0o755}, "allow"},
	{"open", full, [6]uint64{0, 0x41, 0o4755}, "EPERM"},
	{"openat", full, [6]uint64{0, 0, 0x80000, 0o6000}, "allow"},
	{"openat", full, [6]uint64{0, 0, 0x80241, 0o666}, "allow"},
	{"openat", full, [6]uint64{0, 0, 0x80241, 0o4755}, "EPERM"},
	{"openat", full, [6]uint64{0, 0, 0x400001, 0o2755}, "EPERM"}, // O_TMPFILE
	{"openat", full, [6]uint64{0, 0, 1<<32 | 0x41, 1<<32 | 0o4755}, "EPERM"},

	{"prlimit64", full, [6]uint64{17}, "allow"},
	{"prlimit64", Options{}, [6]uint64{}, "allow"},
	{"prlimit64", Options{}, [6]uint64{17}, "EPERM"},
	{"prlimit64", Options{}, [6]uint64{1<<32 | 17}, "EPERM"},
	{"sched_setaffinity", full, [6]uint64{17}, "allow"},
	{"sched_setaffinity", Options{}, [6]uint64{}, "allow"},
	{"sched_setaffinity", Options{}, [6]uint64{17}, "EPERM"},
	{"sched_setattr", Options{}, [6]uint64{17}, "EPERM"},
	{"sched_setparam", Options{}, [6]uint64{17}, "EPERM"},
	{"sched_setscheduler", Options{}, [6]uint64{17}, "EPERM"},
	{"setpriority", full, [6]uint64{2, 0}, "allow"},
	{"setpriority", Options{}, [6]uint64{0, 0}, "allow"},
	{"setpriority", Options{}, [6]uint64{1, 0}, "allow"},
	{"setpriority", Options{}, [6]uint64{0, 17}, "EPERM"},
	{"setpriority", Options{}, [6]uint64{1, 17}, "EPERM"},
	{"setpriority", Options{}, [6]uint64{2, 0}, "EPERM"}, // all of the user
	{"ioprio_set", full, [6]uint64{3, 0}, "allow"},
	{"ioprio_set", Options{}, [6]uint64{1, 0}, "allow"},
	{"ioprio_set", Options{}, [6]uint64{2, 0}, "allow"},
	{"ioprio_set", Options{}, [6]uint64{1, 17}, "EPERM"},
	{"ioprio_set", Options{}, [6]uint64{3, 0}, "EPERM"}, // all of the user

	{"prctl", full, [6]uint64{15}, "allow"},
	{"prctl", full, [6]uint64{1, 9}, "allow"},
	{"prctl", full, [6]uint64{1, 0}, "EPERM"},
	{"prctl", full, [6]uint64{1, 15}, "EPERM"},
	{"prctl", full, [6]uint64{1<<32 | 1, 0}, "EPERM"},
	{"prctl", full, [6]uint64{22, 2}, "allow"},
	{"prctl", full, [6]uint64{0x53564d41}, "allow"},
	{"prctl", full, [6]uint64{35, 13}, "EINVAL"}, // SET_MM_EXE_FILE
	{"prctl", full, [6]uint64{1<<32 | 35, 13}, "EINVAL"},
	{"prctl", full, [6]uint64{59}, "EINVAL"}, // SET_SYSCALL_USER_DISPATCH
	{"prctl", full, [6]uint64{62}, "EINVAL"}, // SCHED_CORE
	{"prctl", full, [6]uint64{1000}, "EINVAL"},

	{"seccomp", full, [6]uint64{0}, "allow"},
	{"seccomp", full, [6]uint64{1, 0}, "allow"},
	{"seccomp", full, [6]uint64{1, 1}, "allow"}, // TSYNC
	{"seccomp", full, [6]uint64{2}, "allow"},
	{"seccomp", full, [6]uint64{3}, "allow"},
	{"seccomp", full, [6]uint64{1, 8}, "EPERM"},
	{"seccomp", full, [6]uint64{1<<32 | 1, 8}, "EPERM"},
	{"seccomp", full, [6]uint64{4}, "EINVAL"},

	{"personality", full, [6]uint64{0}, "allow"},
	{"personality", full, [6]uint64{0xffffffff}, "allow"},
	{"personality", full, [6]uint64{0x40000}, "allow"},
	{"personality", full, [6]uint64{0x400000}, "EPERM"}, // READ_IMPLIES_EXEC
	{"personality", full, [6]uint64{0x100000}, "EPERM"}, // MMAP_PAGE_ZERO
	{"personality", full, [6]uint64{0x440000}, "EPERM"},
	{"personality", full, [6]uint64{1<<32 | 0x400000}, "EPERM"},
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		for _, tt := range argumentCases {
			t.Run(fmt.Sprintf("%s/%s/%x", arch, tt.call, tt.args), func(t *testing.T) {
				t.Parallel()
				f := newFilter(t, arch, tt.o)
				nr, ok := f.byName[tt.call]
				if !ok {
					// The old calls without a directory exist on amd64 only.
					old := []string{"mknod", "chmod", "creat", "mkdir", "open"}
					if arch == "arm64" && slices.Contains(old, tt.call) {
						return
					}
					t.Fatalf("%s has no number", tt.call)
				}
				got := verdict(f.run(t, data{nr: nr, arch: f.m.audit, args: tt.args}))
				if got != tt.want {
					t.Errorf("%s(%#x) with %+v is %s, want %s", tt.call, tt.args, tt.o, got, tt.want)
				}
			})
		}
	}
}

// refused lists the calls that no arguments open. It is written out here a
// second time, so that a rule that is lost or softened is seen.
var refused = map[string]string{
	"EPERM": `unshare setns mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree
		open_tree_attr move_mount mount_setattr name_to_handle_at open_by_handle_at ptrace
		process_vm_readv process_vm_writev pidfd_getfd kcmp add_key request_key keyctl bpf
		perf_event_open userfaultfd fanotify_init fanotify_mark reboot kexec_load kexec_file_load
		init_module finit_module delete_module swapon swapoff acct quotactl quotactl_fd
		settimeofday clock_settime clock_adjtime adjtimex sethostname setdomainname syslog vhangup
		iopl ioperm`,
	"ENOSYS": `clone3 openat2 io_uring_setup io_uring_enter io_uring_register modify_ldt nfsservctl
		lookup_dcookie uselib memfd_secret process_madvise mbind set_mempolicy move_pages
		migrate_pages lsm_set_self_attr statmount listmount listns _sysctl create_module`,
}

func TestRefusedWhateverTheArguments(t *testing.T) {
	t.Parallel()
	for _, arch := range arches {
		f := newFilter(t, arch, full)
		for want, calls := range refused {
			for _, call := range strings.Fields(calls) {
				nr, ok := f.byName[call]
				if !ok {
					continue
				}
				t.Run(arch+"/"+call, func(t *testing.T) {
					t.Parallel()
					rapid.Check(t, func(t *rapid.T) {
						d := data{nr: nr, arch: f.m.audit, ip: rapid.Uint64().Draw(t, "ip"), args: drawArgs(t)}
						if got := verdict(f.run(t, d)); got != want {
							t.Fatalf("%s(%#x) is %s, want %s", call, d.args, got, want)
						}
					})
				})
			}
		}
	}
}
