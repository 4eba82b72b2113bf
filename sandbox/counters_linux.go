package sandbox

import (
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/sandbox/internal/helper"
	"github.com/sallyport/sallyport/sandbox/internal/seccomp"
)

// hostCounter is something that the kernel counts for a user of the host,
// wherever the user's processes are: when it is used up, the user's own
// programs get none. A user namespace does not keep them apart, since what is
// counted in it is counted for who made it as well (kernel/ucount.c:
// inc_ucount).
type hostCounter int

const (
	// pendingSignals are queued signals and timers (timer_create(2)).
	pendingSignals hostCounter = iota
	inotifyInstances
	inotifyWatches
	epollWatches
	counterCount
)

// counterShare is the part of the user's limit, a quarter, that all living
// children of this process get together. There may be other gates of the user.
const counterShare = 4

// wantedCounts are what one child gets while there is enough: watchers of
// thousands of folders, servers of thousands of connections.
var wantedCounts = [counterCount]int64{pendingSignals: 1024, inotifyInstances: 16, inotifyWatches: 1 << 16, epollWatches: 1 << 16}

// ownCounts is what a child gets whose user is its own: half of the instances of
// inotify that the kernel gives a user by default.
var ownCounts = counterValues{pendingSignals: 1024, inotifyInstances: 64, inotifyWatches: 1 << 16, epollWatches: 1 << 16}

// counterValues is one number for each counter.
type counterValues [counterCount]int64

// counterShares shares out among children what is counted for their user. A
// child gets no more than half of what is left, so that the next one gets some:
// together they never get more than there is.
type counterShares struct {
	// inotify is whether a user namespace bounds instances and watches here.
	inotify bool

	mu   sync.Mutex
	left counterValues
}

// openCounters reads the limits of the user.
func openCounters(namespaces bool) *counterShares {
	c := &counterShares{}
	for i, limit := range hostCounts() {
		c.left[i] = limit / counterShare
	}
	var fs unix.Statfs_t
	err := unix.Statfs("/proc/sys/user", &fs)
	c.inotify = namespaces && err == nil && fs.Flags&unix.ST_RDONLY == 0
	return c
}

// hostCounts is what the user of this process may have.
func hostCounts() (limits counterValues) {
	var signals unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_SIGPENDING, &signals) == nil {
		limits[pendingSignals] = int64(min(signals.Cur, 1<<40))
	}
	limits[inotifyInstances] = readMinimum("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances")
	limits[inotifyWatches] = readMinimum("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches")
	limits[epollWatches] = readMinimum("/proc/sys/fs/epoll/max_user_watches")
	return limits
}

// readMinimum returns the least of the numbers in files, 0 when none can be
// read.
func readMinimum(files ...string) (n int64) {
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if v, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && (n == 0 || v < n) {
			n = v
		}
	}
	return n
}

// countersHow says what children get of what is counted for their user, and what
// is not bounded.
func (r *Runner) countersHow() string {
	how := "shares of a quarter of what the user may have of queued signals, timers and inotify"
	if !r.platform.counters.inotify {
		how = "shares of a quarter of what the user may have of queued signals and timers; no inotify, which nothing bounds here"
	}
	if pool, _ := r.platform.users.currentPool(); pool == nil {
		how += ", and of watches of epoll; not bounded: the user's pages of pipes and descriptors in sockets"
	}
	return how
}

// acquire takes the share of one child, which ends with release.
func (c *counterShares) acquire() (share counterValues) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range share {
		share[i] = min(wantedCounts[i], (c.left[i]+1)/2)
		c.left[i] -= share[i]
	}
	return share
}

func (c *counterShares) release(share counterValues) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range share {
		c.left[i] += share[i]
	}
}

// shareLimits returns the limits by which the kernel enforces the share of a
// child.
func (c *counterShares) shareLimits(share counterValues) (helper.Rlimit, []helper.Counter) {
	signals := helper.Rlimit{Resource: unix.RLIMIT_SIGPENDING, Value: uint64(share[pendingSignals])}
	if !c.inotify {
		return signals, nil
	}
	return signals, []helper.Counter{
		{Name: "max_inotify_instances", Value: share[inotifyInstances]},
		{Name: "max_inotify_watches", Value: share[inotifyWatches]},
	}
}

// makeFilters assembles the lists of system calls.
func (r *Runner) makeFilters() error {
	p := &r.platform
	p.counters = openCounters(p.namespaces)
	o := seccomp.Options{
		Network: p.namespaces, IPC: p.namespaces, Sessions: p.namespaces, Notify: true, Inotify: p.counters.inotify,
	}
	for _, filter := range []*[]byte{&p.filter, &p.counting} {
		prog, err := seccomp.Assemble(o)
		if err != nil {
			return err
		}
		*filter = prog.Encode()
		o.CountWatches = true
	}
	return nil
}

// boundCounters gives a child its share. Watches of epoll have no bound but that
// of a user: those of a child without one of its own are counted here.
func (r *Runner) boundCounters(c *childProcess, h *readyHelper, spec *helper.Spec) {
	all := r.platform.counters
	if h.user != nil {
		// Nothing else counts for its user, so that it shares with no child.
		signals, counters := all.shareLimits(ownCounts)
		spec.Rlimits, spec.Counters = append(spec.Rlimits, signals), counters
		return
	}
	share := all.acquire()
	c.atEnd(func() { all.release(share) })
	signals, counters := all.shareLimits(share)
	spec.Rlimits, spec.Counters = append(spec.Rlimits, signals), counters
	spec.Filter = r.platform.counting
	first := h.proc.Pid
	c.watches = &watchQuota{share: share[epollWatches], count: func() (int64, bool) {
		return countWatches(first)
	}}
	if !r.platform.namespaces {
		// Nothing tells which processes are the child's.
		c.watches.count = func() (int64, bool) { return 0, false }
	}
}
