package seccomp

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	// sockTypeMask is SOCK_TYPE_MASK of linux/net.h; the bits above it are
	// SOCK_CLOEXEC and SOCK_NONBLOCK, or EINVAL.
	sockTypeMask = 0xf

	// cloneNamespaces are the CLONE_NEW flags except CLONE_NEWTIME, whose
	// bit is part of the exit signal in clone.
	cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

	setIDs = unix.S_ISUID | unix.S_ISGID
	// createFlags are O_CREAT and the bit of O_TMPFILE that is its own
	// (asm-generic/fcntl.h): with these, open has a mode.
	createFlags = unix.O_CREAT | 0x400000

	// Which argument of ioprio_set (linux/ioprio.h).
	ioprioProcess = 1
	ioprioGroup   = 2
)

// checkExec allows or notifies.
func checkExec(o Options) filterCode {
	if o.Notify {
		return notify
	}
	return allow
}

// checkEpoll allows everything, or notifies EPOLL_CTL_ADD.
func checkEpoll(o Options) filterCode {
	const add = 1
	if o.CountWatches {
		return loadArg(1, branchIf(bpf.JumpEqual, add, notify, allow))
	}
	return allow
}

// checkInotify allows instances where something else bounds them.
func checkInotify(o Options) filterCode {
	if o.Inotify {
		return allow
	}
	return refuseWith(unix.EMFILE)
}

// checkIPC allows System V IPC where it has a namespace.
func checkIPC(o Options) filterCode {
	if o.IPC {
		return allow
	}
	return refuseWith(unix.ENOSYS)
}

// checkRename allows RENAME_NOREPLACE and RENAME_EXCHANGE (rename(2)).
func checkRename(Options) filterCode {
	const known = 1 | 2
	return loadArg(4, branchIf(bpf.JumpBitsSet, ^uint32(known), refuseWith(unix.EINVAL), allow))
}

// checkSession keeps a child in its process group unless a namespace ends what
// leaves it.
func checkSession(o Options) filterCode {
	if o.Sessions {
		return allow
	}
	return refuseWith(unix.EPERM)
}

// checkClone judges the flags of clone, its first argument on both
// architectures. The kernel takes the low 32 bits.
func checkClone(Options) filterCode {
	thread := branchIf(bpf.JumpBitsSet, unix.CLONE_THREAD, branchIf(bpf.JumpBitsSet, unix.CLONE_FILES, allow, refuseWith(unix.EPERM)), allow)
	return loadArg(0, branchIf(bpf.JumpBitsSet, cloneNamespaces|unix.CLONE_PARENT, refuseWith(unix.EPERM), thread))
}

// checkSocket judges family, type and protocol. EAFNOSUPPORT is what
// systemd's RestrictAddressFamilies answers, so programs have met it: the C
// library does without its cache daemon, without netlink and without syslog.
// The internet families without a network are EPERM, which says that the
// network is not missing but refused.
func checkSocket(o Options) filterCode {
	inet := refuseWith(unix.EPERM)
	if o.Network {
		inet = loadArg(1, maskBits(sockTypeMask, chooseByValue(map[uint32]filterCode{
			unix.SOCK_STREAM: allowProtocol(unix.IPPROTO_TCP),
			unix.SOCK_DGRAM:  allowProtocol(unix.IPPROTO_UDP),
		}, refuseWith(unix.EPERM))))
	}
	return loadArg(0, oneOf([]uint32{unix.AF_INET, unix.AF_INET6}, inet, refuseWith(unix.EAFNOSUPPORT)))
}

// allowProtocol allows the default protocol of a socket type, also by its number.
func allowProtocol(number uint32) filterCode {
	return loadArg(2, oneOf([]uint32{0, number}, allow, refuseWith(unix.EPROTONOSUPPORT)))
}

// checkSocketpair allows pairs that cannot be connected to anything else. The
// kernel makes SOCK_RAW of this family a datagram socket too.
func checkSocketpair(Options) filterCode {
	types := loadArg(1, maskBits(sockTypeMask,
		oneOf([]uint32{unix.SOCK_STREAM, unix.SOCK_SEQPACKET}, allow, refuseWith(unix.EPERM))))
	return loadArg(0, branchIf(bpf.JumpEqual, unix.AF_UNIX, types, refuseWith(unix.EAFNOSUPPORT)))
}

// checkSendto refuses fast open and a destination. Of the address, which is a
// pointer, both halves count.
func checkSendto(Options) filterCode {
	address := loadArg(4, branchIf(bpf.JumpEqual, 0,
		loadArgHigh(4, branchIf(bpf.JumpEqual, 0, allow, refuseWith(unix.EPERM))),
		refuseWith(unix.EPERM)))
	return refuseFastOpen(3, address)
}

// checkSendmsg and checkSendmmsg refuse fast open. The flags inside of a
// message header are ignored by the kernel when sending.
func checkSendmsg(Options) filterCode  { return refuseFastOpen(2, allow) }
func checkSendmmsg(Options) filterCode { return refuseFastOpen(3, allow) }

// refuseFastOpen refuses MSG_FASTOPEN in a flags argument with the error of a
// kernel where it is turned off.
func refuseFastOpen(flags uint32, then filterCode) filterCode {
	return loadArg(flags, branchIf(bpf.JumpBitsSet, unix.MSG_FASTOPEN, refuseWith(unix.EOPNOTSUPP), then))
}

// checkIoctl refuses requests by number. Everything else depends on the
// device, and the child's tree has harmless ones only.
func checkIoctl(Options) filterCode {
	return loadArg(1, oneOf([]uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS, unix.TIOCSETD}, refuseWith(unix.EPERM), allow))
}

// checkMknod judges the mode, which is the given argument.
func checkMknod(mode uint32) func(Options) filterCode {
	return func(Options) filterCode {
		return refuseSetID(mode, maskBits(unix.S_IFMT,
			oneOf([]uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK}, allow, refuseWith(unix.EPERM))))
	}
}

// checkMode judges the bits of a mode that lend an identity. The refusal is
// that of systemd's RestrictSUIDSGID. The group that a folder hands down to
// what is made in it is not asked for, and stays.
func checkMode(mode uint32) func(Options) filterCode {
	return func(Options) filterCode { return refuseSetID(mode, allow) }
}

// checkOpen judges the mode of a file that may be made. The mode comes after
// the flags.
func checkOpen(flags uint32) func(Options) filterCode {
	return func(Options) filterCode {
		return loadArg(flags, branchIf(bpf.JumpBitsSet, createFlags, refuseSetID(flags+1, allow), allow))
	}
}

// refuseSetID refuses a mode with a set-ID bit. The rest finds the mode in the
// accumulator.
func refuseSetID(mode uint32, then filterCode) filterCode {
	return loadArg(mode, branchIf(bpf.JumpBitsSet, setIDs, refuseWith(unix.EPERM), then))
}

// checkOwn holds a child without a process namespace to its own process. It is
// named by 0 alone: the filter does not know its number, and a thread's is one
// too. No hook of Landlock covers these calls. Given which, the argument before
// is one of these: a user owns more than the child.
func checkOwn(process uint32, which []uint32) func(Options) filterCode {
	return func(o Options) filterCode {
		if o.Sessions {
			return allow
		}
		own := loadArg(process, branchIf(bpf.JumpEqual, 0, allow, refuseWith(unix.EPERM)))
		if which == nil {
			return own
		}
		return loadArg(process-1, oneOf(which, own, refuseWith(unix.EPERM)))
	}
}

// prctlOptions are the allowed options of prctl, by linux/prctl.h. Left out
// are PR_SET_MM (35), perf events (31, 32), machine checks (33, 34),
// SET_IO_FLUSHER (57), syscall user dispatch (59), core scheduling (62), and
// what belongs to other architectures.
var prctlOptions = []uint32{
	2,    // GET_PDEATHSIG
	3, 4, // GET_DUMPABLE, SET_DUMPABLE
	7, 8, // GET_KEEPCAPS, SET_KEEPCAPS
	15, 16, // SET_NAME, GET_NAME
	21, 22, // GET_SECCOMP, SET_SECCOMP
	23, 24, // CAPBSET_READ, CAPBSET_DROP
	25, 26, // GET_TSC, SET_TSC
	27, 28, // GET_SECUREBITS, SET_SECUREBITS
	29, 30, // SET_TIMERSLACK, GET_TIMERSLACK
	36, 37, // SET_CHILD_SUBREAPER, GET_CHILD_SUBREAPER
	38, 39, // SET_NO_NEW_PRIVS, GET_NO_NEW_PRIVS
	40,     // GET_TID_ADDRESS
	41, 42, // SET_THP_DISABLE, GET_THP_DISABLE
	47,     // CAP_AMBIENT
	50, 51, // SVE_SET_VL, SVE_GET_VL
	52, 53, // GET_SPECULATION_CTRL, SET_SPECULATION_CTRL
	54, 60, 61, // PAC_RESET_KEYS, PAC_SET_ENABLED_KEYS, PAC_GET_ENABLED_KEYS
	55, 56, // SET_TAGGED_ADDR_CTRL, GET_TAGGED_ADDR_CTRL
	63, 64, // SME_SET_VL, SME_GET_VL
	65, 66, // SET_MDWE, GET_MDWE
	67, 68, // SET_MEMORY_MERGE, GET_MEMORY_MERGE
	74, 75, 76, // shadow stack status of a thread
	78,         // FUTEX_HASH
	0x53564d41, // SET_VMA, which names a mapping
	0x59616d61, // SET_PTRACER, for crash reporters
}

// checkPrctl allows a list of options. The parent death signal may be what it
// is for the child already.
func checkPrctl(Options) filterCode {
	known := make(map[uint32]filterCode, len(prctlOptions)+1)
	for _, option := range prctlOptions {
		known[option] = allow
	}
	known[unix.PR_SET_PDEATHSIG] = loadArg(1, branchIf(bpf.JumpEqual, uint32(unix.SIGKILL), allow, refuseWith(unix.EPERM)))
	return loadArg(0, chooseByValue(known, refuseWith(unix.EINVAL)))
}

// checkSeccomp allows everything but a listener: with one a program would
// hold its own calls in the kernel, which nothing ordinary needs.
func checkSeccomp(Options) filterCode {
	filter := loadArg(1, branchIf(bpf.JumpBitsSet, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, refuseWith(unix.EPERM), allow))
	return loadArg(0, chooseByValue(map[uint32]filterCode{
		unix.SECCOMP_SET_MODE_STRICT:  allow,
		unix.SECCOMP_SET_MODE_FILTER:  filter,
		unix.SECCOMP_GET_ACTION_AVAIL: allow,
		unix.SECCOMP_GET_NOTIF_SIZES:  allow,
	}, refuseWith(unix.EINVAL)))
}

// personalities are PER_LINUX, PER_LINUX32, ADDR_NO_RANDOMIZE and the query.
var personalities = []uint32{0, 0x8, 0x40000, 0xffffffff}

// checkPersonality allows a list of values.
func checkPersonality(Options) filterCode {
	return loadArg(0, oneOf(personalities, allow, refuseWith(unix.EPERM)))
}
