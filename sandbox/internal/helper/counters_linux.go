package helper

import "syscall"

// countersDir has the bounds of what the kernel counts for each user in a user
// namespace (namespaces(7)). It shows those of the namespace of who looks.
const countersDir = "/proc/sys/user"

// openCounters opens the folder, before the host's /proc is gone.
func openCounters() (int, error) {
	fd, err := syscall.Open(countersDir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	return fd, wrapError("counters", err)
}

// limitCounters sets the limits of the namespace. A process without
// CAP_SYS_RESOURCE in it cannot change them.
func limitCounters(dir int, counters []Counter) error {
	for i := range counters {
		c := &counters[i]
		fd, err := syscall.Openat(dir, c.Name, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return wrapError("counter "+c.Name, err)
		}
		_, err = syscall.Write(fd, []byte(formatDecimal(c.Value)))
		syscall.Close(fd)
		if err != nil {
			return wrapError("counter "+c.Name, err)
		}
	}
	return nil
}
