package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/sandbox/internal/hostuser"
)

// needUsers skips a test where children have no users of their own.
func needUsers(t *testing.T, r *Runner) {
	t.Helper()
	r.Report()
	if pool, why := r.openUsers().currentPool(); pool == nil {
		if os.Geteuid() == 0 && os.Getenv(sharedVar) == "" {
			t.Fatalf("children of root share its user: %s", why)
		}
		t.Skip(why)
	}
}

// onDisk is the owner and group of a file.
func onDisk(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d:%d", st.Uid, st.Gid)
}

func TestA3_A11_AChildOfRootHasAUserOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, warm := range []int{-1, 1} {
		r := open(t, &Options{Warm: warm})
		needUsers(t, r)
		w := workspace(t, r)
		w.write("private", "root's")
		if err := os.Chmod(w.dir+"/private", 0o600); err != nil {
			t.Fatal(err)
		}
		c := w.start(context.Background(), sallyport.SpawnOptions{}, "sh", "-c",
			"cat private && id -u && echo new > made && chmod 600 made && mkdir -m 700 d && ln -s made link && echo more >> private && exec sleep 100")
		pid := c.(*childProcess).proc.Pid
		defer c.Stop(0)
		eventually(t, "the child has made its files", func() bool {
			data, _ := os.ReadFile(w.dir + "/private")
			return strings.HasSuffix(string(data), "more\n")
		})
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		var uid [4]int
		_, after, _ := strings.Cut(string(status), "\nUid:")
		if _, err := fmt.Sscan(after, &uid[0], &uid[1], &uid[2], &uid[3]); err != nil {
			t.Fatal(err)
		}
		for _, u := range uid {
			if u < hostuser.First || u >= hostuser.First+hostuser.Count {
				t.Errorf("warm %d: the child runs as %v on the host", warm, uid)
			}
		}
		if _, after, _ = strings.Cut(string(status), "\nGroups:"); strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]) != "" {
			t.Errorf("warm %d: the child has the groups %s", warm, after[:20])
		}
		for _, name := range []string{"private", "made", "d", "link"} {
			if got := onDisk(t, filepath.Join(w.dir, name)); got != "0:0" {
				t.Errorf("warm %d: on the disk %s belongs to %s, want root", warm, name, got)
			}
		}
	}
}

// A child that takes all inotify instances, queued signals and timers that the
// kernel gives to its user leaves the host's user what there was.
func TestA3_A11_AHoarderTakesNothingFromTheHost(t *testing.T) {
	r := open(t, &Options{Warm: -1})
	needUsers(t, r)
	w := workspace(t, r)
	if err := copyFile(hostileProgram(t), w.dir+"/hostile"); err != nil {
		t.Fatal(err)
	}
	w.grant.Process.ExecFrom = []string{w.dir}
	in, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Close()
	out := newReadyOutput()
	c := w.start(t.Context(), sallyport.SpawnOptions{Input: in, Output: out}, "sh", "-c", "exec ./hostile hoard")
	defer c.Stop(0)
	select {
	case <-out.ch:
	case <-c.Done():
		res, err := c.Wait()
		t.Fatalf("the hoarder ended: %d, %v", res.ExitCode, err)
	}
	instances := 0
	for ; instances < 100; instances++ {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
		if err != nil {
			t.Errorf("the host has %d inotify instances left: %v", instances, err)
			break
		}
		defer unix.Close(fd)
	}
	const timers = 1000
	for n := range timers {
		var id int32
		if _, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&id))); errno != 0 {
			t.Errorf("the host has %d timers left: %v", n, errno)
			break
		}
		defer unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(id), 0, 0)
	}
}
