package seccomp

import "golang.org/x/sys/unix"

// uringCalls act on behalf of the process from a kernel thread.
const uringCalls = `io_uring_setup io_uring_enter io_uring_register`

// rules is the policy. The set of allowed calls follows the default profile
// of Docker (moby, profiles/seccomp), which is the largest body of experience
// with an allow list under which ordinary programs run; it is narrower where
// the comment of a rule says so.
//
// EPERM is for what programs expect to be privileged, ENOSYS for what they
// expect to be missing on some kernels and have another way for.
var rules = []callRule{
	{
		group: "descriptors", answer: allow,
		calls: `read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close
			close_range dup dup2 dup3 fcntl flock pipe pipe2 sendfile splice tee vmsplice
			copy_file_range fsync fdatasync sync syncfs sync_file_range readahead fadvise64
			fallocate ftruncate cachestat`,
		why: "act on descriptors that the child has",
	},
	{
		group: "files", answer: allow,
		calls: `access faccessat faccessat2 stat fstat lstat newfstatat statx statfs fstatfs getdents
			getdents64 getcwd chdir fchdir readlink readlinkat rmdir rename renameat link
			linkat symlink symlinkat unlink unlinkat truncate chown fchown lchown fchownat utime
			utimes futimesat utimensat umask setxattr lsetxattr fsetxattr setxattrat getxattr
			lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr listxattrat removexattr
			lremovexattr fremovexattr removexattrat`,
		why: "mounts and Landlock decide by the file",
	},
	{
		group: "renaming",
		calls: `renameat2`,
		why:   "EINVAL for RENAME_WHITEOUT, which leaves a device node of the layers of an overlay behind",
		check: checkRename,
	},
	{
		group: "modes",
		calls: `chmod fchmod creat mkdir`,
		why: "EPERM for the set-user-ID and set-group-ID bits: a file that has them would stay behind " +
			"and run as the user of the runtime for everybody on the host",
		check: checkMode(1),
	},
	{
		group: "modes below a directory",
		calls: `fchmodat fchmodat2 mkdirat`,
		why:   "as for chmod",
		check: checkMode(2),
	},
	{
		group: "opening",
		calls: `open`,
		why:   "mounts and Landlock decide by the file; the mode of a new one as for chmod",
		check: checkOpen(1),
	},
	{
		group: "opening below a directory",
		calls: `openat`,
		why:   "as for open",
		check: checkOpen(2),
	},
	{
		group: "opening by structure", answer: missing,
		calls: `openat2`,
		why:   "its mode is behind a pointer; callers fall back to openat",
	},
	{
		group: "waiting", answer: allow,
		calls: `select pselect6 poll ppoll epoll_create epoll_create1 epoll_wait epoll_pwait
			epoll_pwait2 eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime
			timerfd_gettime inotify_add_watch inotify_rm_watch pause`,
		why: "event loops",
	},
	{
		group: "watches of epoll",
		calls: `epoll_ctl`,
		why: "allowed; with CountWatches the runtime is asked before one is added and answers ENOSPC, as the kernel, " +
			"beyond the child's share: the kernel counts them for the user of the host (epoll(7), max_user_watches)",
		check: checkEpoll,
	},
	{
		group: "watches of files",
		calls: `inotify_init inotify_init1`,
		why: "allowed with Inotify, else EMFILE: the kernel counts them for the user of the host, " +
			"and bounds a child by its user namespace only (namespaces(7), /proc/sys/user)",
		check: checkInotify,
	},
	{
		group: "asynchronous input and output", answer: missing,
		calls: `io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents`,
		why:   "its contexts are counted for the whole machine (aio(7), aio-max-nr), so that one child could use up everybody's",
	},
	{
		group: "memory", answer: allow,
		calls: `brk mmap munmap mremap mprotect madvise mincore msync mlock mlock2 mlockall munlock
			munlockall remap_file_pages membarrier memfd_create mseal map_shadow_stack pkey_alloc
			pkey_free pkey_mprotect`,
		why: "the memory of the child itself; run-time compilers need it",
	},
	{
		group: "processes", answer: allow,
		calls: `fork vfork exit exit_group wait4 waitid getpid getppid gettid getpgrp getpgid
			getsid pidfd_open set_tid_address set_robust_list get_robust_list rseq
			restart_syscall arch_prctl times getrusage`,
		why: "the process tree of the child",
	},
	{
		group: "sessions and process groups",
		calls: `setsid setpgid`,
		why:   "allowed with Sessions, else EPERM: the group is what ends with the child",
		check: checkSession,
	},
	{
		group: "execution",
		calls: `execve execveat`,
		why:   "allowed; with Notify reported to the runtime first. Landlock decides which file",
		check: checkExec,
	},
	{
		group: "signals", answer: allow,
		calls: `kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigpending rt_sigreturn rt_sigsuspend
			rt_sigtimedwait rt_sigqueueinfo rt_tgsigqueueinfo sigaltstack pidfd_send_signal`,
		why: "the process namespace or the scope of Landlock holds them inside",
	},
	{
		group: "synchronisation", answer: allow,
		calls: `futex futex_waitv futex_wake futex_wait futex_requeue`,
		why:   "threads",
	},
	{
		group: "time", answer: allow,
		calls: `time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer
			setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete`,
		why: "read clocks and set timers of the child",
	},
	{
		group: "scheduling", answer: allow,
		calls: `sched_yield sched_getaffinity sched_getattr sched_getparam sched_getscheduler
			sched_get_priority_max sched_get_priority_min sched_rr_get_interval getpriority
			ioprio_get getcpu`,
		why: "tell how a process is scheduled",
	},
	{
		group: "limits and scheduling of a process",
		calls: `prlimit64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler`,
		why: "allowed with Sessions, else for the process 0 only, which is the caller, and EPERM for " +
			"others: nothing but a process namespace keeps a child from those of its user",
		check: checkOwn(0, nil),
	},
	{
		group: "priorities",
		calls: `setpriority`,
		why:   "as for limits; without Sessions neither those of a user",
		check: checkOwn(1, []uint32{unix.PRIO_PROCESS, unix.PRIO_PGRP}),
	},
	{
		group: "priorities of input and output",
		calls: `ioprio_set`,
		why:   "as for setpriority",
		check: checkOwn(1, []uint32{ioprioProcess, ioprioGroup}),
	},
	{
		group: "identity", answer: allow,
		calls: `getuid geteuid getgid getegid getresuid getresgid getgroups setuid setgid setreuid
			setregid setresuid setresgid setfsuid setfsgid setgroups capget capset`,
		why: "without capabilities nothing is gained",
	},
	{
		group: "limits and facts", answer: allow,
		calls: `getrlimit setrlimit sysinfo uname getrandom`,
		why:   "limits can only be lowered",
	},
	{
		group: "further confinement", answer: allow,
		calls: `landlock_create_ruleset landlock_add_rule landlock_restrict_self`,
		why:   "a program may give up more",
	},
	{
		group: "probes of the operator", answer: allow,
		calls: `uretprobe uprobe`,
		why: "the kernel makes programs call them where the operator traces the machine; " +
			"from elsewhere they are fatal to the caller",
	},
	{
		group: "System V IPC and message queues",
		calls: `shmget shmat shmdt shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
			mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr`,
		why:   "allowed with IPC, else ENOSYS: they name objects that no file rule covers",
		check: checkIPC,
	},
	{
		group: "new processes",
		calls: `clone`,
		why: "EPERM for a new namespace, and for a child of one's own parent, " +
			"which would not be below the process that is waited for; and for a thread with descriptors of its own, " +
			"which would not be counted",
		check: checkClone,
	},
	{
		group: "new processes by structure", answer: missing,
		calls: `clone3`,
		why:   "its flags are behind a pointer; C libraries fall back to clone",
	},
	{
		group: "sockets",
		calls: `socket`,
		why: "with Network IPv4 and IPv6 with TCP or UDP, else EPERM; other types EPERM, " +
			"other protocols, MPTCP among them, EPROTONOSUPPORT; other families EAFNOSUPPORT",
		check: checkSocket,
	},
	{
		group: "socket pairs",
		calls: `socketpair`,
		why: "AF_UNIX stream and seqpacket, which stay connected to each other; a datagram socket " +
			"could send to any path. Others are refused as by socket",
		check: checkSocketpair,
	},
	{
		group: "use of sockets", answer: allow,
		calls: `bind listen accept accept4 connect getsockname getpeername getsockopt setsockopt
			recvfrom recvmsg recvmmsg shutdown`,
		why: "the network namespace decides",
	},
	{
		group: "sending to an address",
		calls: `sendto`,
		why: "EPERM with an address, EOPNOTSUPP for TCP fast open: " +
			"both reach a peer without connect",
		check: checkSendto,
	},
	{
		group: "sending messages",
		calls: `sendmsg`,
		why:   "EOPNOTSUPP for TCP fast open",
		check: checkSendmsg,
	},
	{
		group: "sending many messages",
		calls: `sendmmsg`,
		why:   "EOPNOTSUPP for TCP fast open",
		check: checkSendmmsg,
	},
	{
		group: "device control",
		calls: `ioctl`,
		why: "EPERM for TIOCSTI and TIOCLINUX, which type into a terminal, TIOCCONS, " +
			"which takes the console, and TIOCSETD, which loads a line discipline",
		check: checkIoctl,
	},
	{
		group: "device nodes",
		calls: `mknod`,
		why:   "regular files, FIFOs and sockets; EPERM for devices, and for modes as for chmod",
		check: checkMknod(1),
	},
	{
		group: "device nodes below a directory",
		calls: `mknodat`,
		why:   "as for mknod",
		check: checkMknod(2),
	},
	{
		group: "process control",
		calls: `prctl`,
		why: "the options that ordinary programs use; EINVAL, as for an unknown option, for others, " +
			"PR_SET_MM among them, which would change what the report names. EPERM for a parent death " +
			"signal that is not SIGKILL: the one of the child itself ends it with the runtime",
		check: checkPrctl,
	},
	{
		group: "filters",
		calls: `seccomp`,
		why:   "a program may filter itself further; EPERM for a listener, EINVAL for unknown operations",
		check: checkSeccomp,
	},
	{
		group: "personality",
		calls: `personality`,
		why: "Linux, its 32-bit variant, no address randomisation (sanitizers need it) and the query; " +
			"EPERM for others, which weaken the mapping rules",
		check: checkPersonality,
	},
	{
		group: "namespaces", answer: denied,
		calls: `unshare setns`,
		why:   "a new user namespace gives every capability inside it",
	},
	{
		group: "mounts", answer: denied,
		calls: `mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick open_tree open_tree_attr
			move_mount mount_setattr`,
		why: "the tree is the boundary; the new interface counts (CVE-2021-41133)",
	},
	{
		group: "file handles", answer: denied,
		calls: `name_to_handle_at open_by_handle_at`,
		why:   "open files past every directory",
	},
	{
		group: "other processes", answer: denied,
		calls: `ptrace process_vm_readv process_vm_writev pidfd_getfd kcmp`,
		why:   "read and change processes",
	},
	{
		group: "io_uring", answer: missing,
		calls: uringCalls,
		why:   "makes calls that no filter sees",
	},
	{
		group: "keys", answer: denied,
		calls: `add_key request_key keyctl`,
		why:   "keyrings are not in a namespace",
	},
	{
		group: "kernel programming", answer: denied,
		calls: `bpf perf_event_open userfaultfd fanotify_init fanotify_mark`,
		why:   "the largest sources of kernel bugs; debuggers and monitors use them",
	},
	{
		group: "administration", answer: denied,
		calls: `reboot kexec_load kexec_file_load init_module finit_module delete_module swapon swapoff
			acct quotactl quotactl_fd settimeofday clock_settime clock_adjtime adjtimex sethostname
			setdomainname syslog vhangup iopl ioperm`,
		why: "administer the machine",
	},
	{
		group: "memory policy", answer: missing,
		calls: `mbind get_mempolicy set_mempolicy set_mempolicy_home_node migrate_pages move_pages
			process_madvise process_mrelease memfd_secret`,
		why: "placement on nodes and the memory of others; libnuma takes ENOSYS for a machine without",
	},
	{
		group: "new and unused", answer: missing,
		calls: `statmount listmount listns lsm_get_self_attr lsm_set_self_attr lsm_list_modules
			file_getattr file_setattr rseq_slice_yield`,
		why: "nothing depends on them yet",
	},
	{
		group: "old", answer: missing,
		calls: `_sysctl afs_syscall create_module epoll_ctl_old epoll_wait_old get_kernel_syms
			get_thread_area set_thread_area getpmsg putpmsg query_module security tuxcall vserver
			lookup_dcookie nfsservctl uselib ustat sysfs modify_ldt`,
		why: "gone from the kernel or without use",
	},
}

// callRule is the answer to a group of calls of both architectures. What no
// rule lists is answered ENOSYS, and the process is killed for a call of another
// architecture or of the x32 ABI.
type callRule struct {
	group string
	// answer is that whatever the arguments; nil has check decide by them.
	answer filterCode
	calls  string // names, separated by spaces
	why    string // the reason, or the condition of check
	check  func(Options) filterCode
}

// answerCode returns the answer as code.
func (r *callRule) answerCode(o Options) filterCode {
	if r.check != nil {
		return r.check(o)
	}
	return r.answer
}
