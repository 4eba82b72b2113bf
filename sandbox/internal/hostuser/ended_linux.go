package hostuser

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// maxLooks bounds how often the table of processes is listed until it shows no
// process that was not looked at.
const maxLooks = 10

// endedUsers is who has only processes that have ended, as one look at the table
// of processes shows it. What has ended holds nothing of its user, but keeps its
// number until its parent waits for it: the first process of a container, to
// which the children of a killed gate fall, may never do so.
type endedUsers struct{ running, ended map[int]bool }

func lookForEnded() (u endedUsers) {
	u.readTable("/proc")
	return u
}

// has reports whether a user is known to be one of them.
func (u endedUsers) has(id int) bool { return u.ended[id] && !u.running[id] }

// readTable fills in who runs. It takes no user for ended where the table is not that of
// this process, cannot be read, or changes faster than it is read: what forks and
// ends all the time is new in each listing.
func (u *endedUsers) readTable(table string) {
	if self, err := os.Readlink(filepath.Join(table, "self")); err != nil || self != strconv.Itoa(os.Getpid()) {
		return
	}
	u.running, u.ended = map[int]bool{}, map[int]bool{}
	seen := map[string]bool{}
	for range maxLooks {
		processes, err := listNumbered(table)
		found := false
		for _, dir := range processes {
			if seen[dir] || err != nil {
				continue
			}
			seen[dir], found = true, true
			err = u.addProcess(dir)
		}
		if err != nil {
			break
		}
		if !found {
			return
		}
	}
	u.ended = nil
}

// listNumbered returns what has a number in a folder, nothing where the process of
// the folder is gone.
func listNumbered(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if isGone(err) {
		return nil, nil
	}
	for _, e := range entries {
		if name := e.Name(); name[0] >= '0' && name[0] <= '9' {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// isGone reports whether an error says that a process is gone.
func isGone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) }

// addProcess adds the users of a process. One whose first thread has ended runs as
// long as it has others.
func (u *endedUsers) addProcess(dir string) error {
	threads, err := listNumbered(filepath.Join(dir, "task"))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		status, err := os.ReadFile(filepath.Join(thread, "status"))
		switch {
		case isGone(err):
			continue
		case err != nil:
			return err
		}
		to := u.running
		if len(threads) == 1 && (bytes.Contains(status, []byte("\nState:\tZ")) || bytes.Contains(status, []byte("\nState:\tX"))) {
			to = u.ended
		}
		_, after, _ := bytes.Cut(status, []byte("\nUid:"))
		line, _, _ := bytes.Cut(after, []byte("\n"))
		for _, field := range bytes.Fields(line) {
			if id, err := strconv.Atoi(string(field)); err == nil {
				to[id] = true
			}
		}
	}
	return nil
}
