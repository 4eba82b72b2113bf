package plugin

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/plugin/wire"
	"github.com/sallyport/sallyport/internal/text"
)

// The sections of a module that are looked at, by their numbers.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

// sectionOrder is the order of the sections, of which each stands once at most.
var sectionOrder = [...]byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport, sectionStart,
	sectionElement, sectionDataCount, sectionCode, sectionData,
}

var (
	errCut      = errors.New("the module is cut off or not WebAssembly")
	errNoMemory = errors.New("the module does not export its memory under the name memory")
	errOrder    = errors.New("the module is not valid: it has a section that is no part of WebAssembly 2, or in another place than there")
	errTypes    = errors.New("the module is not valid, or has a type that no plugin may use: it is no part of WebAssembly 2, or one of vectors")
)

// preparedModule is a module that was looked at before anything runs.
type preparedModule struct {
	// code is the module with places at which the host can end it.
	code []byte
	// fixedTables says that no table can grow beyond its bound.
	fixedTables bool

	// sections are the bodies of the sections, by their numbers; nil where it has none.
	sections [sectionDataCount + 1][]byte
	// What the module has of its own: types, functions with those that it imports,
	// and global variables.
	types, functions, globals int
	// widest is the most parameters or results that a function or a block has.
	widest int
	// answer is the number of the imported function that takes an answer.
	answer int
}

// prepareModule checks a module for what the runtime does not bound, and puts places at
// which the host can end it into its code: see guardFunctions.
func prepareModule(data []byte) (*preparedModule, error) {
	if len(data) > MaxModule {
		return nil, fmt.Errorf("the module has more than %d MiB", MaxModule>>20)
	}
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(data, []byte(header)) {
		return nil, errors.New("the file is no WebAssembly module of version 1")
	}
	m := &preparedModule{fixedTables: true, answer: -1}
	if err := m.readSections(data[len(header):]); err != nil {
		return nil, err
	}
	if err := m.addGuards(); err != nil {
		return nil, err
	}
	m.code = append(make([]byte, 0, len(data)+len(data)/8), header...)
	for _, id := range sectionOrder {
		if body := m.sections[id]; body != nil {
			m.code = append(binary.AppendUvarint(append(m.code, id), uint64(len(body))), body...)
		}
	}
	m.sections = [len(m.sections)][]byte{}
	return m, nil
}

// readSections divides a module into its sections and checks each.
func (m *preparedModule) readSections(data []byte) error {
	for r, next := (moduleReader{rest: data}), 0; len(r.rest) > 0; {
		id := r.readByte()
		section := r.readBytes(r.readCount(MaxModule))
		if r.err != nil {
			return r.err
		}
		if id == sectionCustom { // names and debugging data, which nothing here reads
			continue
		}
		at := bytes.IndexByte(sectionOrder[next:], id)
		if at < 0 {
			return errOrder
		}
		next += at + 1
		if err := m.checkSection(id, section); err != nil {
			return err
		}
		m.sections[id] = section
	}
	return nil
}

func (m *preparedModule) checkSection(id byte, section []byte) (err error) {
	r := moduleReader{rest: section}
	switch id {
	case sectionType:
		m.checkTypes(&r)
	case sectionImport:
		err = m.checkImports(&r)
	case sectionFunction:
		m.checkFunctions(&r)
	case sectionTable:
		m.checkTables(&r)
	case sectionGlobal:
		m.checkGlobals(&r)
	case sectionExport:
		m.checkExports(&r)
	case sectionStart:
		r.readIndex(m.functions)
	case sectionElement:
		m.checkElements(&r)
	case sectionData:
		m.checkData(&r)
	default: // they have no members, or are read later
		return nil
	}
	if len(r.rest) > 0 {
		r.err = cmp.Or(r.err, errCut)
	}
	return cmp.Or(err, r.err)
}

// checkImports refuses everything that the host does not give, by its name.
func (m *preparedModule) checkImports(r *moduleReader) error {
	for i := range r.readCount(maxFunctions) {
		module, name := r.readName(), r.readName()
		kind := r.readByte()
		if r.err != nil {
			return nil
		}
		if shown := text.PrintableLine(module + "." + name); kind != 0 {
			return fmt.Errorf("the module imports %s, which is no function: a plugin brings its own memory, tables and variables", shown)
		} else if !isOffered(module, name) {
			return fmt.Errorf("the module imports %s, which no plugin gets", shown)
		}
		r.readIndex(m.types)
		if m.functions++; module == wire.Module && name == wire.FuncAnswer {
			m.answer = i
		}
	}
	return nil
}

// isOffered reports whether the host gives a function.
func isOffered(module, name string) bool {
	return slices.ContainsFunc(offered(), func(f hostFunction) bool { return f.module == module && f.name == name })
}

// moduleReader reads the binary format and remembers the first fault.
type moduleReader struct {
	rest []byte
	err  error
	// branches counts the places to which the code that was read may go, calls its calls.
	branches, calls int

	// What was read is written anew when writes is set, each number in its shortest form: the
	// runtime cannot take it for anything else.
	writes  bool
	written []byte
}

// takeWritten returns what was read since the last time, as it was written; it is good until
// the next read.
func (r *moduleReader) takeWritten() []byte {
	b := r.written
	r.written = b[:0]
	return b
}

func (r *moduleReader) readByte() byte {
	if b := r.readBytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *moduleReader) readBytes(n int) []byte {
	if n > len(r.rest) {
		r.err = cmp.Or(r.err, errCut)
	}
	if r.err != nil {
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	if r.writes {
		r.written = append(r.written, b...)
	}
	return b
}

// readCount reads a number of at most five bytes that is not above a bound.
func (r *moduleReader) readCount(most uint64) int {
	n, size := binary.Uvarint(r.rest[:min(len(r.rest), 5)])
	switch {
	case size <= 0:
		r.err = cmp.Or(r.err, errCut)
	case n > most:
		r.err = cmp.Or(r.err, fmt.Errorf("the module is too large: a count of %d where at most %d is allowed", n, most))
	}
	if r.err != nil {
		return 0
	}
	r.rest = r.rest[size:]
	if r.writes {
		r.written = binary.AppendUvarint(r.written, n)
	}
	return int(n)
}

// readIndex reads a number below a bound: what the module itself has.
func (r *moduleReader) readIndex(members int) {
	if n := r.readCount(1<<32 - 1); n >= members {
		r.err = cmp.Or(r.err, errors.New("the module is not valid: it names a function, variable, type or memory that it does not have"))
	}
}

// The most bytes of a number of any sign. The runtime ends the number of a block's type
// after that many, whatever follows: what a reader took for more of it would run unseen.
const longest32, longest64 = 5, 10

// readSigned reads a number of any sign, of at most so many bytes.
func (r *moduleReader) readSigned(longest int) (n int64) {
	for i, b := range r.rest[:min(len(r.rest), longest)] {
		n |= int64(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		n |= -int64(b&0x40) << (7 * i)
		if r.rest = r.rest[i+1:]; r.writes {
			r.written = appendSigned(r.written, n)
		}
		return n
	}
	r.err = cmp.Or(r.err, errCut)
	return 0
}

// appendSigned appends a number of any sign in its shortest form.
func appendSigned(b []byte, n int64) []byte {
	for n < -0x40 || n >= 0x40 {
		b, n = append(b, byte(n)|0x80), n>>7
	}
	return append(b, byte(n)&0x7f)
}

// The types of values and of functions, as they are written.
const (
	typeI32, typeI64, typeF32, typeF64 = 0x7f, 0x7e, 0x7d, 0x7c
	typeFuncref, typeExternref         = 0x70, 0x6f
	typeFunction                       = 0x60
	typeNothing                        = 0x40 // of a block
)

// readType reads the type of a value. It refuses vectors, and what comes with operands.
func (r *moduleReader) readType() {
	switch r.readByte() {
	case typeI32, typeI64, typeF32, typeF64, typeFuncref, typeExternref:
	default:
		r.err = cmp.Or(r.err, errTypes)
	}
}

// readBlockType reads the type of a block: nothing, that of a value, or the number of one
// of some types.
func (r *moduleReader) readBlockType(types int) {
	if len(r.rest) > 0 && r.rest[0] == typeNothing {
		r.readByte()
	} else if len(r.rest) > 0 && r.rest[0] > typeNothing && r.rest[0] < 0x80 {
		r.readType()
	} else if n := r.readSigned(longest32); n < 0 || n >= int64(types) {
		r.err = cmp.Or(r.err, errTypes)
	}
}

func (r *moduleReader) readName() string { return string(r.readBytes(r.readCount(1 << 12))) }
