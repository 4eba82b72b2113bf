package plugin

import (
	"cmp"
	"errors"
)

// What reads a module makes room for as many members as it claims: everything that has
// members is read here before.

// checkTypes reads the types of functions.
func (m *preparedModule) checkTypes(r *moduleReader) {
	const maxValues = 1000 // of one function, as in the JavaScript interface
	m.types = r.readCount(maxFunctions)
	room := maxTyped
	for range m.types {
		if r.readByte() != typeFunction {
			r.err = cmp.Or(r.err, errTypes)
		}
		for range 2 { // its parameters and its results
			n := r.readCount(uint64(min(maxValues, room)))
			room -= n
			for range n {
				r.readType()
			}
			m.widest = max(m.widest, n)
		}
		if r.err != nil {
			return
		}
	}
}

// checkFunctions reads the types of the functions of the module.
func (m *preparedModule) checkFunctions(r *moduleReader) {
	n := r.readCount(maxFunctions)
	for range n {
		r.readIndex(m.types)
	}
	m.functions += n
}

// checkTables reads the tables. All together have no more room than one may have.
func (m *preparedModule) checkTables(r *moduleReader) {
	room := maxElements
	for range r.readCount(maxTables) {
		r.readType() // what it holds
		bounded := r.readByte()&1 != 0
		n := r.readCount(uint64(room))
		if bounded {
			n = max(n, r.readCount(uint64(room)))
		} else {
			m.fixedTables = false
		}
		room -= n
	}
}

func (m *preparedModule) checkGlobals(r *moduleReader) {
	m.globals = r.readCount(maxGlobals)
	for range m.globals {
		r.readType()
		r.readByte() // whether it changes
		m.readConstant(r)
	}
}

// The kinds of what is exported.
const kindFunction, kindGlobal = 0, 3

func (m *preparedModule) checkExports(r *moduleReader) {
	for range r.readCount(maxFunctions) {
		r.readName()
		switch r.readByte() {
		case kindFunction:
			r.readIndex(m.functions)
		case kindGlobal:
			r.readIndex(m.globals)
		default: // the guards have nothing of these
			r.readCount(1<<32 - 1)
		}
	}
}

// checkElements reads the functions that are put into tables. All segments together have
// no more than one table holds.
func (m *preparedModule) checkElements(r *moduleReader) {
	const inactive, explicit, expressions = 1, 2, 4
	room := maxElements
	for range r.readCount(maxElements) {
		kind := r.readCount(inactive | explicit | expressions)
		if kind&inactive == 0 {
			if kind&explicit != 0 {
				r.readIndex(maxTables)
			}
			m.readConstant(r) // its place
		}
		switch {
		case kind&(inactive|explicit) == 0:
		case kind&expressions != 0:
			r.readType()
		case r.readByte() != 0:
			r.err = cmp.Or(r.err, errTypes)
		}
		n := r.readCount(uint64(room))
		for range n {
			if kind&expressions != 0 {
				m.readConstant(r)
			} else {
				r.readIndex(m.functions)
			}
		}
		if room -= n; r.err != nil {
			return
		}
	}
}

// checkData reads what memory is filled with.
func (m *preparedModule) checkData(r *moduleReader) {
	const inactive, explicit = 1, 2
	for range r.readCount(maxSegments) {
		kind := r.readCount(explicit)
		if kind == explicit {
			r.readIndex(1)
		}
		if kind != inactive {
			m.readConstant(r) // its place
		}
		if r.readBytes(r.readCount(MaxModule)); r.err != nil {
			return
		}
	}
}

// errConstant says that a value is no constant.
var errConstant = errors.New("the module is not valid: a variable or a segment begins with what is no constant")

// readConstant reads the instructions that make a constant.
func (m *preparedModule) readConstant(r *moduleReader) {
	for r.err == nil {
		switch r.readByte() {
		case opEnd:
			return
		case opConst32:
			r.readSigned(longest32)
		case opConst64:
			r.readSigned(longest64)
		case opConstFloat:
			r.readBytes(4)
		case opConstDouble:
			r.readBytes(8)
		case opGlobalGet:
			r.readIndex(m.globals)
		case opRefNull:
			r.readType()
		case opRefFunc:
			r.readIndex(m.functions)
		default:
			r.err = cmp.Or(r.err, errConstant)
		}
	}
}
