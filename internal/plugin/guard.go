package plugin

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
)

// emptyLoop is "loop end" without values: a place at which the runtime can end a run.
const emptyLoop = "\x03\x40\x0b"

// guardFunctions returns the code of all functions with an empty loop at the beginning
// of each, and before each instruction that may take long by itself.
func guardFunctions(r *moduleReader) []byte {
	n := r.readCount(maxFunctions)
	out := binary.AppendUvarint(make([]byte, 0, len(r.rest)+4*n), uint64(n))
	var guarded []byte
	for range n {
		body := moduleReader{rest: r.readBytes(r.readCount(maxFunction))}
		start := body.rest
		body.skipLocals()
		guarded = append(append(guarded[:0], start[:len(start)-len(body.rest)]...), emptyLoop...)
		for long := 0; len(body.rest) > 0 && body.err == nil; {
			at := body.rest
			if body.readInstruction() {
				guarded = append(guarded, emptyLoop...)
				if long++; long > maxLong {
					body.err = fmt.Errorf("the module is too large: a function has more than %d instructions that copy or fill", maxLong)
				}
			}
			guarded = append(guarded, at[:len(at)-len(body.rest)]...)
		}
		if r.err = cmp.Or(r.err, body.err); r.err != nil {
			return nil
		}
		out = append(binary.AppendUvarint(out, uint64(len(guarded))), guarded...)
	}
	return append(out, r.rest...)
}

// skipLocals reads the local variables of a function.
func (r *moduleReader) skipLocals() {
	locals := 0
	for range r.readCount(maxLocals) { // groups of one type
		locals += r.readCount(maxLocals)
		r.readByte()
		if locals > maxLocals {
			r.err = cmp.Or(r.err, fmt.Errorf("the module is too large: a function has more than %d local variables", maxLocals))
		}
	}
}

// Opcodes with operands, as in the core specification, version 2, without vectors.
const (
	opBlock, opLoop, opIf       = 0x02, 0x03, 0x04
	opBranch, opBranchIf        = 0x0c, 0x0d
	opBranchTable               = 0x0e
	opCall, opCallIndirect      = 0x10, 0x11
	opSelectTyped               = 0x1c
	opFirstVariable, opTableSet = 0x20, 0x26
	opFirstLoad, opLastStore    = 0x28, 0x3e
	opMemorySize, opMemoryGrow  = 0x3f, 0x40
	opConst32, opConst64        = 0x41, 0x42
	opConstFloat, opConstDouble = 0x43, 0x44
	opLastPlain                 = 0xc4
	opRefNull, opRefFunc        = 0xd0, 0xd2
	opMore                      = 0xfc
)

// operandsOfMore are the numbers of operands of the instructions behind [opMore], and
// whether each copies or fills as much as the module says.
var operandsOfMore = [...]struct {
	operands int
	long     bool
}{
	8: {2, true}, 9: {1, false}, 10: {2, true}, 11: {1, true}, // memory.init, data.dropInstance, memory.copy, memory.fill
	12: {2, true}, 13: {1, false}, 14: {2, true}, // table.init, elem.dropInstance, table.copy
	15: {1, true}, 16: {1, false}, 17: {1, true}, // table.grow, table.size, table.fill
}

var errUnknownInstruction = errors.New("the module has an instruction that no plugin may use: it is no part of WebAssembly 2, or works on vectors")

// readInstruction reads one instruction, and reports whether it may take long.
func (r *moduleReader) readInstruction() (long bool) {
	const any = 1<<32 - 1
	switch op := r.readByte(); {
	case op == opBlock || op == opLoop || op == opIf || op == opConst32 || op == opRefNull || op == opConst64:
		r.skipNumber()
	case op == opBranchTable:
		for range r.readCount(maxFunction) {
			r.readCount(any)
		}
		r.readCount(any)
	case op == opCallIndirect || op >= opFirstLoad && op <= opLastStore:
		r.readCount(any)
		r.readCount(any)
	case op == opSelectTyped:
		r.readBytes(r.readCount(maxFunction))
	case op == opBranch || op == opBranchIf || op == opCall || op >= opFirstVariable && op <= opTableSet || op == opRefFunc:
		r.readCount(any)
	case op == opMemorySize || op == opMemoryGrow:
		r.readCount(any)
		return op == opMemoryGrow
	case op == opConstFloat:
		r.readBytes(4)
	case op == opConstDouble:
		r.readBytes(8)
	case op == opMore:
		more := operandsOfMore[r.readCount(uint64(len(operandsOfMore)-1))]
		for range more.operands {
			r.readCount(any)
		}
		return more.long
	case op <= opLastPlain || op == opRefNull+1:
	default:
		r.err = cmp.Or(r.err, errUnknownInstruction)
	}
	return false
}

// skipNumber reads a number of any sign, of at most ten bytes.
func (r *moduleReader) skipNumber() {
	for range binary.MaxVarintLen64 {
		if r.readByte()&0x80 == 0 {
			return
		}
	}
	r.err = cmp.Or(r.err, errCut)
}
