package seccomp

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// number is one system call with its number on each architecture.
type number struct {
	name         string
	amd64, arm64 int
}

// absent stands for the number of a call that an architecture does not have.
const absent = -1

// machine is an architecture.
type machine struct {
	// audit is its AUDIT_ARCH constant of linux/audit.h.
	audit uint32
	// x32 is the bit that marks the calls of a second ABI with the same
	// architecture constant (__X32_SYSCALL_BIT), 0 without one.
	x32 uint32
	// number is the number of a call, or absent.
	number func(number) int
}

// machines are the supported architectures by their Go names. Both are
// little-endian, on which the offsets of the arguments rely.
var machines = map[string]machine{
	"amd64": {0xc000003e, 0x40000000, func(n number) int { return n.amd64 }},
	"arm64": {0xc00000b7, 0, func(n number) int { return n.arm64 }},
}

// The layout of struct seccomp_data of linux/seccomp.h.
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// loadArg loads the low 32 bits of an argument.
func loadArg(i uint32, then filterCode) filterCode {
	return loadWord(offsetArgs+8*i, then)
}

// loadArgHigh loads the high 32 bits, for pointers.
func loadArgHigh(i uint32, then filterCode) filterCode {
	return loadWord(offsetArgs+8*i+4, then)
}

// refuseWith is code that fails a call with an error number.
func refuseWith(errno unix.Errno) filterCode {
	return returnVerdict(unix.SECCOMP_RET_ERRNO | uint32(errno))
}

// assembleFilter returns the filter for a machine.
func (m machine) assembleFilter(o Options) (Program, error) {
	c := m.confineCode(o)
	if o.Watch {
		c = m.watchCode()
	}
	p, err := bpf.Assemble(c)
	if err != nil {
		return nil, fmt.Errorf("assembling the filter: %w", err)
	}
	if len(p) > maxInstructions {
		return nil, fmt.Errorf("the filter has %d instructions, the kernel takes %d", len(p), maxInstructions)
	}
	return p, nil
}

// confineCode is the policy of the table. Calls of another architecture or ABI
// end the process: their numbers mean something else, no program for this one
// makes them, and a refusal would let it go on looking.
func (m machine) confineCode(o Options) filterCode {
	body := chooseByValue(m.callAnswers(o), missing)
	if m.x32 != 0 {
		body = branchIf(bpf.JumpBitsSet, m.x32, returnVerdict(unix.SECCOMP_RET_KILL_PROCESS), body)
	}
	return loadWord(offsetArch, branchIf(bpf.JumpEqual, m.audit, loadWord(offsetNumber, body), returnVerdict(unix.SECCOMP_RET_KILL_PROCESS)))
}

// callAnswers maps the numbers of a machine to their answers.
func (m machine) callAnswers(o Options) map[uint32]filterCode {
	calls := make(map[uint32]filterCode)
	for i := range rules {
		m.answerCalls(calls, rules[i].calls, rules[i].answerCode(o))
	}
	return calls
}

// answerCalls sets the answer to calls, whose names are separated by spaces.
func (m machine) answerCalls(calls map[uint32]filterCode, names string, answer filterCode) {
	for name := range strings.FieldsSeq(names) {
		if nr := m.numberOf(name); nr != unknown {
			calls[nr] = answer
		}
	}
}

// watchCode allows everything and notifies the watched calls. Calls of another
// architecture pass unseen.
func (m machine) watchCode() filterCode {
	calls := make(map[uint32]filterCode)
	for nr := range m.watchedCalls() {
		calls[nr] = notify
	}
	m.answerCalls(calls, uringCalls, missing)
	body := loadWord(offsetNumber, chooseByValue(calls, allow))
	return loadWord(offsetArch, branchIf(bpf.JumpEqual, m.audit, body, allow))
}

// watchedCalls are the calls that [Options.Watch] notifies, by number.
func (m machine) watchedCalls() map[uint32]string {
	byNumber := make(map[uint32]string)
	for name := range shapes {
		byNumber[m.numberOf(name)] = name
	}
	delete(byNumber, unknown)
	return byNumber
}

// unknown is the number of a call that the machine does not know.
const unknown = ^uint32(0)

// numberOf returns the number of a call.
func (m machine) numberOf(name string) uint32 {
	i, ok := slices.BinarySearchFunc(numbers, name, func(n number, name string) int { return strings.Compare(n.name, name) })
	if !ok || m.number(numbers[i]) == absent {
		return unknown
	}
	return uint32(m.number(numbers[i]))
}
