package helper

import "syscall"

// GroupsMarker is the variable that tells the launcher what control groups of the
// runtime are called, and in which folders they are: the beginning of their names
// and the folders, a line each.
const GroupsMarker = "SALLYPORT_GROUPS"

// MsgQuit ends the launcher of a runtime that goes on, or that has removed its
// groups itself.
const MsgQuit = 'Q'

// removeGroups removes the control groups of a runtime that is gone. Those of
// processes that still end are tried again for two seconds; the next runtime that
// starts in the same group tries once more.
func removeGroups() {
	text, _ := syscall.Getenv(GroupsMarker)
	prefix, dirs := cutText(text, '\n')
	if prefix == "" {
		return
	}
	pause := syscall.Timespec{Nsec: 10_000_000}
	for range 200 {
		left := false
		for rest := dirs; rest != ""; {
			var dir string
			dir, rest = cutText(rest, '\n')
			for _, name := range namesIn(dir) {
				if len(name) > len(prefix) && name[:len(prefix)] == prefix && syscall.Rmdir(dir+"/"+name) != nil {
					left = true
				}
			}
		}
		if !left {
			return
		}
		_ = syscall.Nanosleep(&pause, nil)
	}
}

// namesIn lists a folder, as far as it can be read.
func namesIn(dir string) (names []string) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	buf := make([]byte, 8192)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return names
		}
		_, _, names = syscall.ParseDirent(buf[:n], -1, names)
	}
}
