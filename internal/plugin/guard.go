package plugin

import (
	"cmp"
	"errors"
	"fmt"
)

// guardFunctions returns the code of all functions with guards: at the beginning of each
// function and of each loop, and where an instruction takes as long as the module says.
func (m *preparedModule) guardFunctions(r *moduleReader) []byte {
	n := r.readCount(maxFunctions)
	out := appendCount(make([]byte, 0, len(r.rest)+len(r.rest)/8), n)
	var guarded, written []byte
	room := maxAllLocals
	for range n {
		body := moduleReader{rest: r.readBytes(r.readCount(maxFunction)), writes: true, written: written}
		count := 1 + len(body.rest)/codeUnit
		locals := body.skipLocals()
		if room -= locals; room < 0 {
			body.err = cmp.Or(body.err, fmt.Errorf("the module is too large: its functions have more than %d local variables together", maxAllLocals))
		}
		guarded = append(guarded[:0], body.takeWritten()...)
		for long, entered := 0, false; len(body.rest) > 0 && body.err == nil; {
			if op := body.rest[0]; !entered && op < opDrop { // what goes elsewhere: all before it is run once
				if entered = true; op != opLoop {
					guarded = m.appendGuard(guarded, count)
				}
			}
			needs := m.readInstruction(&body)
			instruction := body.takeWritten()
			switch needs {
			case needsGuard:
				guarded = m.appendGuard(append(guarded, instruction...), count)
			case needsQuestion:
				guarded = append(m.appendCall(guarded, addedAsk), instruction...)
			case needsCopy:
				guarded = m.appendCall(guarded, addedCopy)
			case needsFill:
				guarded = m.appendCall(guarded, addedFill)
			default:
				guarded = append(guarded, instruction...)
				continue
			}
			if long++; long > maxLong {
				body.err = cmp.Or(body.err, fmt.Errorf("the module is too large: a function has more than %d loops and instructions that copy or fill", maxLong))
			}
		}
		if body.branches*max(leastFlow, locals+m.widest)+body.calls*max(leastFlow, m.widest) > maxFlow {
			body.err = cmp.Or(body.err, errFlow)
		}
		if r.err = cmp.Or(r.err, body.err); r.err != nil {
			return nil
		}
		written = body.written
		if out = append(appendCount(out, len(guarded)), guarded...); len(out) > maxGuarded {
			r.err = fmt.Errorf("the module is too large: its code has more than %d MiB with what ends it", maxGuarded>>20)
			return nil
		}
	}
	if len(r.rest) > 0 {
		r.err = cmp.Or(r.err, errCut)
	}
	return out
}

// errFlow says that translating a function would take too much: see maxFlow.
var errFlow = fmt.Errorf("the module is too large: the branches and calls of a function hand on more than %d values together", maxFlow)

// skipLocals reads the local variables of a function, and returns how many there are.
func (r *moduleReader) skipLocals() (locals int) {
	for range r.readCount(maxLocals) { // groups of one type
		locals += r.readCount(maxLocals)
		r.readType()
		if locals > maxLocals {
			r.err = cmp.Or(r.err, fmt.Errorf("the module is too large: a function has more than %d local variables", maxLocals))
		}
	}
	return locals
}

// Opcodes that are written or have operands, as in the core specification, version 2,
// without vectors.
const (
	opTrap, opNothing           = 0x00, 0x01
	opBlock, opLoop, opIf       = 0x02, 0x03, 0x04
	opElse, opEnd               = 0x05, 0x0b
	opBranch, opBranchIf        = 0x0c, 0x0d
	opBranchTable, opReturn     = 0x0e, 0x0f
	opCall, opCallIndirect      = 0x10, 0x11
	opDrop, opSelect            = 0x1a, 0x1b
	opSelectTyped               = 0x1c
	opLocalGet, opLocalTee      = 0x20, 0x22
	opGlobalGet, opGlobalSet    = 0x23, 0x24
	opTableGet, opTableSet      = 0x25, 0x26
	opFirstLoad, opLastStore    = 0x28, 0x3e
	opMemorySize, opMemoryGrow  = 0x3f, 0x40
	opConst32, opConst64        = 0x41, 0x42
	opConstFloat, opConstDouble = 0x43, 0x44
	opFirstPlain, opLastPlain   = 0x45, 0xc4
	opLess                      = 0x48
	opSubtract, opShiftRight    = 0x6b, 0x76
	opRefNull, opRefIsNull      = 0xd0, 0xd1
	opRefFunc                   = 0xd2
	opMore                      = 0xfc
	opCopy, opFill              = 10, 11 // behind opMore
)

// need is what an instruction needs beside itself.
type need int

const (
	needsNothing need = iota
	needsGuard
	needsQuestion
	needsCopy
	needsFill
)

// operandsOfMore are the numbers of operands of the instructions behind [opMore], and
// what each needs.
var operandsOfMore = [...]struct {
	operands int
	needs    need
}{
	8: {2, needsQuestion}, 9: {1, needsNothing}, opCopy: {2, needsCopy}, opFill: {1, needsFill}, // memory.init, data.drop, memory.copy, memory.fill
	12: {2, needsQuestion}, 13: {1, needsNothing}, 14: {2, needsQuestion}, // table.init, elem.drop, table.copy
	15: {1, needsQuestion}, 16: {1, needsNothing}, 17: {1, needsQuestion}, // table.grow, table.size, table.fill
}

var errUnknownInstruction = errors.New("the module has an instruction that no plugin may use: it is no part of WebAssembly 2, or works on vectors")

// readInstruction reads one instruction exactly as the runtime does: what it took for
// something else would have no guard. It refuses what it does not know, and what is
// behind that which the module has of its own.
func (m *preparedModule) readInstruction(r *moduleReader) need {
	const any = 1<<32 - 1
	switch op := r.readByte(); {
	case op == opBlock || op == opLoop || op == opIf:
		r.branches++
		r.readBlockType(m.types)
		if op == opLoop {
			return needsGuard
		}
	case op == opConst32:
		r.readSigned(longest32)
	case op == opConst64:
		r.readSigned(longest64)
	case op == opRefNull:
		r.readType()
	case op == opBranchTable:
		n := r.readCount(maxFunction)
		for range n {
			r.readCount(any)
		}
		r.readCount(any)
		r.branches += n + 1
	case op == opCallIndirect:
		r.calls++
		r.readCount(any)
		r.readCount(any)
	case op >= opFirstLoad && op <= opLastStore:
		r.readCount(any)
		r.readCount(any)
	case op == opSelectTyped:
		if r.readByte() != 1 {
			r.err = cmp.Or(r.err, errTypes)
		}
		r.readType()
	case op == opCall:
		r.calls++
		r.readIndex(m.functions)
	case op == opRefFunc:
		r.readIndex(m.functions)
	case op == opGlobalGet || op == opGlobalSet:
		r.readIndex(m.globals)
	case op == opBranch || op == opBranchIf:
		r.branches++
		r.readCount(any)
	case op >= opLocalGet && op <= opLocalTee || op == opTableGet || op == opTableSet:
		r.readCount(any)
	case op == opMemorySize || op == opMemoryGrow:
		r.readIndex(1)
		if op == opMemoryGrow {
			return needsQuestion
		}
	case op == opConstFloat:
		r.readBytes(4)
	case op == opConstDouble:
		r.readBytes(8)
	case op == opMore:
		return r.readMore()
	case op >= opFirstPlain && op <= opLastPlain || op == opRefIsNull:
	case op == opTrap || op == opNothing || op == opElse || op == opEnd || op == opReturn || op == opDrop || op == opSelect:
	default:
		r.err = cmp.Or(r.err, errUnknownInstruction)
	}
	return needsNothing
}

// readMore reads an instruction behind [opMore].
func (r *moduleReader) readMore() need {
	op := r.readByte()
	if int(op) >= len(operandsOfMore) {
		r.err = cmp.Or(r.err, errUnknownInstruction)
		return needsNothing
	}
	more := operandsOfMore[op]
	for range more.operands {
		if most := 1<<32 - 1; op == opCopy || op == opFill {
			r.readIndex(1)
		} else {
			r.readCount(uint64(most))
		}
	}
	return more.needs
}
