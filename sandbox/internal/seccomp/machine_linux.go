package seccomp

import (
	"fmt"

	"golang.org/x/net/bpf"
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

// The verdicts of linux/seccomp.h, and the numbers of asm-generic/errno.h,
// which both architectures use.
const (
	verdictAllow  = 0x7fff0000
	verdictNotify = 0x7fc00000
	verdictErrno  = 0x00050000
	verdictKill   = 0x80000000 // SECCOMP_RET_KILL_PROCESS

	ePERM           = 1
	eINVAL          = 22
	eMFILE          = 24
	eNOSYS          = 38
	ePROTONOSUPPORT = 93
	eOPNOTSUPP      = 95
	eAFNOSUPPORT    = 97
)

// refuseWith is code that fails a call with an error number.
func refuseWith(errno uint32) filterCode {
	return returnVerdict(verdictErrno | errno)
}

// assembleFilter returns the filter for a machine.
func (m machine) assembleFilter(o Options) (Program, error) {
	c := m.watchCode()
	if !o.Watch {
		var err error
		if c, err = m.confineCode(o); err != nil {
			return nil, err
		}
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
func (m machine) confineCode(o Options) (filterCode, error) {
	calls, err := m.callAnswers(o)
	if err != nil {
		return nil, err
	}
	body := chooseByValue(calls, refuseWith(eNOSYS))
	if m.x32 != 0 {
		body = branchIf(bpf.JumpBitsSet, m.x32, returnVerdict(verdictKill), body)
	}
	return loadWord(offsetArch, branchIf(bpf.JumpEqual, m.audit, loadWord(offsetNumber, body), returnVerdict(verdictKill))), nil
}

// callAnswers maps the numbers of a machine to their answers.
func (m machine) callAnswers(o Options) (map[uint32]filterCode, error) {
	byName := make(map[string]*callRule)
	for i := range rules {
		for _, name := range rules[i].callNames() {
			if byName[name] != nil {
				return nil, fmt.Errorf("the call %s has two rules", name)
			}
			byName[name] = &rules[i]
		}
	}
	calls := make(map[uint32]filterCode)
	for _, n := range numbers {
		r := byName[n.name]
		nr := m.number(n)
		if r == nil || nr == absent {
			continue
		}
		c, err := r.answerCode(o)
		if err != nil {
			return nil, err
		}
		calls[uint32(nr)] = c
	}
	return calls, nil
}

// watchCode allows everything and notifies the watched calls. Calls of another
// architecture pass unseen.
func (m machine) watchCode() filterCode {
	calls := make(map[uint32]filterCode)
	for nr := range m.watchedCalls() {
		calls[nr] = returnVerdict(verdictNotify)
	}
	for _, n := range numbers {
		if nr := m.number(n); nr != absent && isUring(n.name) {
			calls[uint32(nr)] = refuseWith(eNOSYS)
		}
	}
	body := loadWord(offsetNumber, chooseByValue(calls, returnVerdict(verdictAllow)))
	return loadWord(offsetArch, branchIf(bpf.JumpEqual, m.audit, body, returnVerdict(verdictAllow)))
}
