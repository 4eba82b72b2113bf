package seccomp

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	probes["x32"] = func() unix.Errno { return call(0x40000000 | unix.SYS_GETPID) }
	probes["i386"] = func() unix.Errno { interrupt(); return 0 }
}

// interrupt makes the getpid call of i386, by machine code, since Go has no
// way to say it: mov eax, 20; int 0x80; ret.
func interrupt() {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC,
		unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(err)
	}
	copy(page, []byte{0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3})
	entry := &page[0]
	closure := unsafe.Pointer(&entry)
	(*(*func())(unsafe.Pointer(&closure)))()
}

func TestKernelKillsForeignCalls(t *testing.T) {
	t.Parallel()
	wantKilled(t, "x32")
	// A kernel may be built without them, and answers as to a wrong instruction.
	if out, err := command(t, childSpec{Probes: []string{"i386"}, Unfiltered: true}).CombinedOutput(); err != nil {
		t.Skipf("this kernel has no calls of i386, also without a filter: %v\n%.60s", err, out)
	}
	wantKilled(t, "i386")
}
