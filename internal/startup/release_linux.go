package startup

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// releaseMemory lets go of what only a start needs. The kernel maps a program file
// in large pieces around every page that is used, and never unmaps what is used no
// more: most of what a program resides in is code that has run once. What is used
// again comes back from the cache of files.
func releaseMemory() {
	debug.FreeOSMemory()
	for _, m := range programMappings() {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, m.start, m.end-m.start, syscall.MADV_DONTNEED)
	}
}

// mapping is one of the mappings of this process.
type mapping struct {
	start, end uintptr
	resident   int // in KiB
}

// programMappings returns the mappings of the program file that hold nothing but
// that file. Those that can be written do, and so do those in which a debugger has
// put breakpoints.
func programMappings() (out []mapping) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil
	}
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil
	}
	var m mapping
	ours := false
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		switch {
		case len(f) >= 5 && !bytes.HasSuffix(f[0], []byte(":")): // the head of a mapping
			from, to, _ := bytes.Cut(f[0], []byte("-"))
			start, err1 := strconv.ParseUint(string(from), 16, 64)
			end, err2 := strconv.ParseUint(string(to), 16, 64)
			m = mapping{start: uintptr(start), end: uintptr(end)}
			ours = err1 == nil && err2 == nil && len(f) == 6 && string(f[5]) == self && !bytes.Contains(f[1], []byte("w"))
		case ours && len(f) == 3 && string(f[0]) == "Rss:":
			m.resident, _ = strconv.Atoi(string(f[1]))
		case ours && len(f) == 3 && string(f[0]) == "Anonymous:" && string(f[1]) == "0":
			out = append(out, m)
		}
	}
	return out
}
