package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

// hoarder takes as much of a counter as it gets, in several processes, prints how
// much, and stays until its input ends.
const hoarder = `
import ctypes, os, sys, select
libc = ctypes.CDLL(None, use_errno=True)
def instances():
    n = 0
    while n < 3000 and libc.inotify_init1(0) >= 0: n += 1
    return n
def watches():
    fd = libc.inotify_init1(0)
    n = 0
    while fd >= 0 and n < 90000:
        d = "/tmp/d%d.%d" % (os.getpid(), n)
        os.mkdir(d)
        if libc.inotify_add_watch(fd, d.encode(), 2) < 0: break
        n += 1
    return n
def timers():
    n, t = 0, ctypes.c_void_p()
    while n < 5000 and libc.timer_create(1, None, ctypes.byref(t)) == 0: n += 1
    return n
def epoll():
    # Watches outlive the number under which a file was added.
    global held
    n, files = 0, list(sum((os.pipe() for _ in range(200)), ()))
    e = select.epoll()
    held = e, files
    for f in files:
        for at in range(1000, 1900):
            os.dup2(f, at)
            try: e.register(at, 1)
            except OSError as x:
                if x.errno == 28: return n
                raise
            n += 1
            os.close(at)
            if n >= 100000: return n
    return n
r, w = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.write(w, b"%d\n" % globals()[sys.argv[1]]())
        sys.stdin.read()
        os._exit(0)
os.close(w)
total = 0
for _ in range(4):
    line = b""
    while not line.endswith(b"\n"): line += os.read(r, 1)
    total += int(line)
print(total, flush=True)
sys.stdin.read()
`

func hoard(t *testing.T, w *workplace, what string) (c sallyport.Child, got int64) {
	t.Helper()
	in, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { feed.Close() })
	said := newReadyOutput()
	c = w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: said}, "python3", "-c", hoarder, what)
	t.Cleanup(func() { c.Stop(0) })
	said.wait(t)
	line := said.text.String()
	got, err = strconv.ParseInt(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatalf("%s: the child says %q", what, line)
	}
	return c, got
}

// What the kernel counts for a user of the host, children do not use up: neither
// one nor all of them.
func TestA3_A11_ChildrenLeaveTheUsersCountersToTheUser(t *testing.T) {
	installed(t, "python3")
	limits := hostCounts()
	// Root's children have users of their own, unless they have to share root's.
	for _, off := range []layers{0, layerUsers} {
		for what, counter := range map[string]hostCounter{
			"instances": inotifyInstances, "watches": inotifyWatches, "timers": pendingSignals, "epoll": epollWatches,
		} {
			t.Run(fmt.Sprintf("%s without %b", what, off), func(t *testing.T) {
				t.Parallel() // each counts something else, or other users' children
				r := open(t, &Options{Warm: -1, without: off})
				w := workspace(t, r)
				pool, _ := r.openUsers().currentPool()
				if pool != nil && counter == epollWatches {
					t.Skip("counted for the child's own user")
				}
				// As many as there are take seconds to add, and minutes of epoll's.
				all := limits[counter] / counterShare / int64(needs.Count(16, 1))
				if counter == epollWatches {
					all = min(all, limits[counter]/counterShare/64)
				}
				if all < limits[counter]/counterShare {
					r.platform.counters.left[counter] = all
				}
				// Children with users of their own do not share.
				children := 4
				if pool != nil {
					children = needs.Count(1, 4)
				}
				var total int64
				for i := range children {
					_, got := hoard(t, w, what)
					if i == 0 && got < min(wantedCounts[counter], all/4) {
						t.Errorf("the first child got %d of %d, which is too few for a program", got, limits[counter])
					}
					total += got
				}
				t.Logf("%d children got %d of %d", children, total, limits[counter])
				// What is counted for users of their own takes nothing from this one.
				if pool == nil && total > all {
					t.Errorf("%d children got %d of the %d of their user, want %d at most", children, total, limits[counter], all)
				}
				switch fd, err := unix.InotifyInit1(unix.IN_CLOEXEC); {
				case err != nil:
					t.Errorf("the user has no inotify instance left: %v", err)
				default:
					unix.Close(fd)
				}
			})
		}
	}
}

// A share is given back, and none is more than half of what is left.
func TestA3_A11_SharesAddUpToNoMoreThanThereIs(t *testing.T) {
	t.Parallel()
	c := &counterShares{left: counterValues{1000, 32, 5000, 100000}}
	before := c.left
	var given []counterValues
	var sum counterValues
	for range 50 {
		share := c.acquire()
		given = append(given, share)
		for i, n := range share {
			sum[i] += n
		}
	}
	for i, n := range sum {
		if n > before[i] || given[0][i] == 0 || given[0][i] > wantedCounts[i] {
			t.Errorf("counter %d: 50 children have %d of %d, the first %d", i, n, before[i], given[0][i])
		}
	}
	for _, share := range given {
		c.release(share)
	}
	if c.left != before {
		t.Errorf("after all have ended %v are left, want %v", c.left, before)
	}
}

// A server that adds and closes for days never uses its share up, and what it
// hides in a socket counts on.
func TestA3_A11_WatchesThatAreGoneAreGivenBack(t *testing.T) {
	installed(t, "python3")
	t.Parallel()
	r := open(t, &Options{Warm: -1, without: layerUsers})
	r.platform.counters.left[epollWatches] = 128
	w := workspace(t, r)
	const script = `
import array, errno, os, select, socket
def add(n, close):
    e = select.epoll()
    ends = [os.pipe() for _ in range(n)]
    for r, w in ends: e.register(r, 1)
    if close:
        e.close()
    for r, w in ends: os.close(r); os.close(w)
    return e
for _ in range(20): add(50, True)
print("given back")
a, b = socket.socketpair()
try:
    for _ in range(10):
        e = select.epoll()
        ends = [os.pipe() for _ in range(20)]
        for r, w in ends: e.register(r, 1)
        a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [e.fileno()]))])
        e.close()
    print("hidden")
except OSError as x:
    print(errno.errorcode[x.errno])
`
	res := w.run(sallyport.SpawnOptions{}, "python3", "-c", script)
	if got := string(res.Stdout); got != "given back\nENOSPC\n" {
		t.Errorf("stdout = %q, want that closed watches are given back and hidden ones are not\n%s", got, res.Stderr)
	}
}

func TestA3_A11_HoldsForAnOrdinaryUser(t *testing.T) {
	needs.LongRun(t, "the same as an ordinary user, too")
	asNobody(t, "^TestA3_A11_Children")
}
