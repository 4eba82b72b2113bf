package seccomp

import (
	"encoding/binary"
	"fmt"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// data is struct seccomp_data.
type data struct {
	nr   uint32
	arch uint32
	ip   uint64
	args [6]uint64
}

// words lays the structure out in 32-bit words of a little-endian machine.
// Each word is written big-endian, which is how the virtual machine of
// x/net/bpf reads packets.
func (d data) words() []byte {
	b := binary.BigEndian.AppendUint32(nil, d.nr)
	b = binary.BigEndian.AppendUint32(b, d.arch)
	for _, v := range append([]uint64{d.ip}, d.args[:]...) {
		b = binary.BigEndian.AppendUint32(b, uint32(v))
		b = binary.BigEndian.AppendUint32(b, uint32(v>>32))
	}
	return b
}

// filter is an assembled program in the virtual machine.
type filter struct {
	m  machine
	vm *bpf.VM
	// byName has the numbers of the machine.
	byName map[string]uint32
}

// newFilter assembles for an architecture.
func newFilter(t testing.TB, arch string, o Options) filter {
	t.Helper()
	m := machines[arch]
	p, err := m.assembleFilter(o)
	if err != nil {
		t.Fatal(err)
	}
	list, ok := bpf.Disassemble(p)
	if !ok {
		t.Fatal("the program has instructions that x/net/bpf does not know")
	}
	vm, err := bpf.NewVM(list)
	if err != nil {
		t.Fatal(err)
	}
	f := filter{m: m, vm: vm, byName: map[string]uint32{}}
	for _, n := range numbers {
		if nr := m.number(n); nr != absent {
			f.byName[n.name] = uint32(nr)
		}
	}
	return f
}

// run returns the verdict for a call.
func (f filter) run(t fataler, d data) uint32 {
	v, err := f.vm.Run(d.words())
	if err != nil {
		t.Fatalf("running the filter: %v", err)
	}
	return uint32(v)
}

// fataler is a testing.TB or a rapid.T.
type fataler interface {
	Fatalf(format string, args ...any)
}

// verdict prints a verdict.
func verdict(v uint32) string {
	errnos := map[unix.Errno]string{
		unix.EPERM: "EPERM", unix.EINVAL: "EINVAL", unix.ENOSYS: "ENOSYS", unix.EPROTONOSUPPORT: "EPROTONOSUPPORT",
		unix.EOPNOTSUPP: "EOPNOTSUPP", unix.EMFILE: "EMFILE", unix.EAFNOSUPPORT: "EAFNOSUPPORT",
	}
	switch {
	case v == unix.SECCOMP_RET_ALLOW:
		return "allow"
	case v == unix.SECCOMP_RET_USER_NOTIF:
		return "notify"
	case v == unix.SECCOMP_RET_KILL_PROCESS:
		return "kill"
	case v&^0xffff == unix.SECCOMP_RET_ERRNO && errnos[unix.Errno(v&0xffff)] != "":
		return errnos[unix.Errno(v&0xffff)]
	}
	return fmt.Sprintf("%#x", v)
}
