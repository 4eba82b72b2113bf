package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// observedPath is a name in the tree as it was before a call.
type observedPath struct {
	// real is the path with links followed, parent the folder of the name;
	// both are empty when there is no such folder.
	real, parent string
	// given is the name where it differs from real.
	given       string
	exists, dir bool
	// owned is true for the files of this user, who may change their modes
	// whatever these say.
	owned bool
}

// statPath returns what a path names; with follow, a link at its end is
// followed.
func statPath(path string, follow bool) observedPath {
	p := observedPath{}
	if path == "" || strings.HasPrefix(path, "/proc/") {
		// Links of /proc mean something else to each process that follows them.
		return observedPath{real: path, exists: path != ""}
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return p
	}
	p.parent, p.real = parent, filepath.Join(parent, filepath.Base(path))
	if follow {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			p.real, p.parent = real, filepath.Dir(real)
		}
	}
	if p.real != path {
		p.given = path
	}
	if info, err := os.Lstat(p.real); err == nil {
		p.exists, p.dir = true, info.IsDir()
		st, ok := info.Sys().(*syscall.Stat_t)
		p.owned = ok && int(st.Uid) == os.Geteuid()
	}
	return p
}

// hasAccess reports whether this process, and so the program, has a right to a
// file.
func (p observedPath) hasAccess(mode uint32) bool { return unix.Access(p.real, mode) == nil }

// readInterpreter returns the program after #! at the beginning of a file,
// which the kernel opens itself (execve(2)).
func readInterpreter(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	// The kernel looks at 256 bytes (BINPRM_BUF_SIZE).
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	if err != nil || len(line) < 3 || string(line[:2]) != "#!" {
		return ""
	}
	words := strings.Fields(string(line[2:]))
	if len(words) == 0 || !filepath.IsAbs(words[0]) {
		return ""
	}
	return words[0]
}
