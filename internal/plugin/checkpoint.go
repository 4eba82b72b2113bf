package plugin

import (
	"encoding/binary"
	"errors"
)

// A guard is a place at which the host can end a run. It counts down in a variable that
// the module cannot name, and asks the host when nothing is left. Until then the module
// runs without this process: its scheduler waits for it. So what is counted until a
// question is as much code as one function may have.
const (
	countedUntilAsked = 1000
	// codeUnit are the bytes of a function, and movedUnit those that are copied or
	// filled, for which a guard counts one more.
	codeUnit, movedUnit = 256, 1 << 10
)

// askMark is the place and the length of the answer by which a guard asks the host
// whether the run goes on. No memory has such a place.
const askMark = 1<<32 - 1

// The functions that are added behind those of the module: what asks the host, and what
// stands for the instructions that copy and fill.
const (
	addedAsk = iota
	addedCopy
	addedFill
)

// addGuards puts guards into the code, and what they need behind what the module has.
func (m *preparedModule) addGuards() error {
	switch {
	case m.sections[sectionMemory] == nil:
		return errNoMemory
	case m.sections[sectionType] == nil || m.sections[sectionFunction] == nil || m.sections[sectionCode] == nil:
		return errors.New("the module has no functions of its own")
	case m.answer < 0:
		return errors.New("the module does not import sallyport.answer, without which it cannot answer")
	}
	r := moduleReader{rest: m.sections[sectionCode]}
	code := m.guardFunctions(&r)
	if r.err != nil {
		return r.err
	}
	m.sections[sectionCode] = appendMembers(code, m.writeAsk(), m.writeMove(opCopy, 2), m.writeMove(opFill, 1))
	m.sections[sectionType] = appendMembers(m.sections[sectionType],
		[]byte{typeFunction, 0, 0}, []byte{typeFunction, 3, typeI32, typeI32, typeI32, 0})
	move := appendCount(nil, m.types+1)
	m.sections[sectionFunction] = appendMembers(m.sections[sectionFunction], appendCount(nil, m.types), move, move)
	if m.sections[sectionGlobal] == nil {
		m.sections[sectionGlobal] = []byte{0}
	}
	m.sections[sectionGlobal] = appendMembers(m.sections[sectionGlobal], []byte{typeI32, 1, opConst32, 0, opEnd})
	return nil
}

// appendMembers returns a section with members behind those that it has.
func appendMembers(section []byte, members ...[]byte) []byte {
	r := moduleReader{rest: section}
	n := r.readCount(uint64(len(section)))
	out := appendCount(make([]byte, 0, len(section)+64), n+len(members))
	out = append(out, r.rest...)
	for _, member := range members {
		out = append(out, member...)
	}
	return out
}

func appendCount(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

// appendConstant writes the instruction that puts a number on the stack.
func appendConstant(b []byte, n int) []byte {
	b = append(b, opConst32)
	for ; n >= 0x40; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// appendGuard writes a guard that counts some.
func (m *preparedModule) appendGuard(b []byte, count int) []byte {
	b = appendCount(append(b, opGlobalGet), m.globals)
	b = append(appendConstant(b, count), opSubtract)
	return m.appendQuestion(b)
}

// appendQuestion writes what stores the counter, and asks the host where nothing is left.
func (m *preparedModule) appendQuestion(b []byte) []byte {
	b = appendCount(append(b, opGlobalSet), m.globals)
	b = appendCount(append(b, opGlobalGet), m.globals)
	b = append(b, opConst32, 0, opLess, opIf, typeNothing)
	return append(m.appendCall(b, addedAsk), opEnd)
}

// appendCall writes the call of an added function.
func (m *preparedModule) appendCall(b []byte, added int) []byte {
	return appendCount(append(b, opCall), m.functions+added)
}

// writeAsk returns the function that asks the host, and that fills the counter up.
func (m *preparedModule) writeAsk() []byte {
	b := appendConstant([]byte{0}, countedUntilAsked)
	b = appendCount(append(b, opGlobalSet), m.globals)
	b = appendCount(append(b, opConst32, 0x7f, opConst32, 0x7f, opCall), m.answer) // twice -1: see askMark
	b = append(b, opEnd)
	return append(appendCount(nil, len(b)), b...)
}

// writeMove returns a function that stands for an instruction that copies or fills. Its
// guard counts the bytes.
func (m *preparedModule) writeMove(op byte, memories int) []byte {
	b := appendCount([]byte{0, opGlobalGet}, m.globals)
	b = append(b, opConst32, 1, opSubtract)
	b = append(b, opLocalGet, 2, opConst32, 10, opShiftRight, opSubtract) // movedUnit is 1 << 10
	b = m.appendQuestion(b)
	b = append(b, opLocalGet, 0, opLocalGet, 1, opLocalGet, 2, opMore, op)
	b = append(append(b, make([]byte, memories)...), opEnd)
	return append(appendCount(nil, len(b)), b...)
}
