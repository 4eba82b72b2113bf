package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"
)

// watchQuota counts what a child adds to epoll instances, where it shares the
// user of this process. The kernel bounds them for a user only, and frees them
// unseen, with the last descriptor of a file; so what is left of them is
// counted anew when the share seems used up. It is for one goroutine.
type watchQuota struct {
	share, used int64
	// count counts those of the child; it is not ok where some may be hidden.
	count func() (n int64, ok bool)
	next  time.Time // when they may be counted again
}

// recountPause is how long after one count of a child's watches the next may be.
// A count looks at each of its descriptors.
const recountPause = 100 * time.Millisecond

// addWatch reports whether one more watch may be added.
func (w *watchQuota) addWatch() bool {
	if w.used >= w.share && !w.recount() {
		return false
	}
	w.used++
	return true
}

// recount reports whether less than the share is used after all. Who asks too
// often waits.
func (w *watchQuota) recount() bool {
	time.Sleep(time.Until(w.next))
	n, ok := w.count()
	w.next = time.Now().Add(recountPause)
	if ok {
		w.used = n
	}
	return w.used < w.share
}

// countWatches counts the watches in a process namespace, given its first
// process. It is not ok when a process could not be looked into, or descriptors
// are on their way in a socket: one of them may be an instance.
func countWatches(first int) (n int64, ok bool) {
	space, err := os.Readlink(procPath(first, "ns/pid"))
	if err != nil {
		return 0, false
	}
	pids, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false
	}
	for _, e := range pids {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == first {
			continue // an init has no descriptors
		}
		if own, err := os.Readlink(procPath(pid, "ns/pid")); err != nil || own != space {
			continue // of the host, or gone
		}
		more, ok := watchesOf(pid)
		if !ok {
			return 0, false
		}
		n += more
	}
	return n, true
}

// watchesOf counts the watches of the instances that one process holds. Threads
// share its descriptors: a filter sees to that.
func watchesOf(pid int) (n int64, ok bool) {
	fds, err := os.ReadDir(procPath(pid, "fd"))
	if err != nil {
		_, gone := os.Stat(procPath(pid, ""))
		return 0, os.IsNotExist(gone)
	}
	for _, e := range fds {
		link, _ := os.Readlink(procPath(pid, "fd/"+e.Name()))
		socket := strings.HasPrefix(link, "socket:")
		if !socket && link != "anon_inode:[eventpoll]" {
			continue
		}
		data, _ := os.ReadFile(procPath(pid, "fdinfo/"+e.Name()))
		if socket && carriesDescriptors(data) {
			return 0, false
		}
		n += int64(bytes.Count(data, []byte("\ntfd:")))
	}
	return n, true
}

// carriesDescriptors reports whether a socket has descriptors waiting in it
// (net/unix/af_unix.c: unix_show_fdinfo).
func carriesDescriptors(info []byte) bool {
	n := procField(info, "scm_fds")
	return n != "" && n != "0"
}

// procField returns what a line other than the first of a file in /proc says of a
// name; empty without one.
func procField(data []byte, name string) string {
	_, rest, _ := bytes.Cut(data, []byte("\n"+name+":"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(line))
}

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
