package sandbox

import (
	"os"
	"path/filepath"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
)

// machineProc is what /proc tells about the machine and other users, and few
// programs ask: keys and locks of all users, devices, modules, addresses.
var machineProc = []string{
	"/proc/acpi", "/proc/asound", "/proc/bus", "/proc/driver", "/proc/fs", "/proc/interrupts", "/proc/iomem", "/proc/ioports",
	"/proc/irq", "/proc/kallsyms", "/proc/key-users", "/proc/keys", "/proc/locks", "/proc/modules", "/proc/sched_debug",
	"/proc/scsi", "/proc/sysrq-trigger",
}

// hiddenProc is what /proc tells about the memory of the machine to root
// alone, by file mode and without asking for a capability. To a child that
// shares root's user these files belong; the rest of what is sensitive there
// asks (proc(5)).
var hiddenProc = []string{
	"/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/pagetypeinfo", "/proc/slabinfo",
	"/proc/timer_list", "/proc/vmallocinfo",
}

const (
	settingsDir = "/proc/sys"
	// settingsBytes bounds the memory of the copies: 64 files and folders.
	settingsBytes = 256 << 10
	// freshID gives another text each time, which no copy does.
	freshID = settingsDir + "/kernel/random/uuid"
)

// settings are those of the kernel that libraries and runtimes read. A child
// sees what they were when its helper was made; the host name is its own.
var settings = []string{
	"fs/aio-max-nr", "fs/epoll/max_user_watches", "fs/file-max", "fs/inotify/max_queued_events", "fs/inotify/max_user_instances",
	"fs/inotify/max_user_watches", "fs/nr_open", "fs/pipe-max-size", "kernel/cap_last_cap", "kernel/ngroups_max", "kernel/osrelease",
	"kernel/ostype", "kernel/overflowgid", "kernel/overflowuid", "kernel/pid_max", "kernel/seccomp/actions_avail", "kernel/shmall",
	"kernel/shmmax", "kernel/shmmni", "kernel/threads-max", "kernel/version", "kernel/yama/ptrace_scope",
	"net/core/rmem_max", "net/core/somaxconn", "net/core/wmem_max", "net/ipv4/ip_local_port_range",
	"net/ipv4/ip_unprivileged_port_start", "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv6/conf/all/disable_ipv6",
	"vm/max_map_count", "vm/mmap_min_addr", "vm/overcommit_memory", "vm/overcommit_ratio",
}

// procOps shows a child its processes, and of the machine what programs need.
// The option subset=pid of proc(5) would take /proc/cpuinfo and /proc/meminfo
// with it, by which runtimes size themselves.
func procOps() []helper.Op {
	ops := []helper.Op{{Do: helper.DoProc, Path: "/proc", Optional: true}}
	covered := machineProc
	if os.Geteuid() == 0 {
		covered = append(append([]string{}, covered...), hiddenProc...)
	}
	for _, path := range covered {
		ops = append(ops, helper.Op{Do: helper.DoCover, Path: path, Optional: true})
	}
	ops = append(ops, helper.Op{Do: helper.DoTmpfs, Path: settingsDir, Mode: 0o755, Size: settingsBytes},
		helper.Op{Do: helper.DoFile, Path: settingsDir + "/kernel/hostname", Data: []byte("sandbox\n"), Mode: 0o444})
	for _, name := range settings {
		path := filepath.Join(settingsDir, name)
		if data, err := os.ReadFile(path); err == nil {
			ops = append(ops, helper.Op{Do: helper.DoFile, Path: path, Data: data, Mode: 0o444})
		}
	}
	return append(ops,
		helper.Op{Do: helper.DoBind, Path: freshID, Source: freshID, Optional: true},
		helper.Op{Do: helper.DoPin, Path: settingsDir})
}
