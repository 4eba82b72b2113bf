package plugin

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/sallyport/sallyport/internal/text"
)

// The sections of a module that are looked at, by their numbers.
const (
	sectionCustom    = 0
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionGlobal    = 6
	sectionStart     = 8
	sectionCode      = 10
	sectionDataCount = 12
)

var errCut = errors.New("the module is cut off or not WebAssembly")

// preparedModule is a module that was looked at before anything runs.
type preparedModule struct {
	// code is the module with places at which the runtime can end it.
	code []byte
	// fixedTables says that no table can grow beyond its bound.
	fixedTables bool
}

// prepareModule checks a module for what the runtime does not bound, and puts places at
// which it can be ended into its code. The runtime looks in loops only: functions that
// call each other, or that fill memory again and again, could go on for ever, and no
// goroutine of this process would run beside them.
func prepareModule(data []byte) (*preparedModule, error) {
	if len(data) > MaxModule {
		return nil, fmt.Errorf("the module has more than %d MiB", MaxModule>>20)
	}
	const header = "\x00asm\x01\x00\x00\x00"
	if !bytes.HasPrefix(data, []byte(header)) {
		return nil, errors.New("the file is no WebAssembly module of version 1")
	}
	m := &preparedModule{code: make([]byte, 0, len(data)+len(data)/16), fixedTables: true}
	m.code = append(m.code, header...)
	for r := (moduleReader{rest: data[len(header):]}); len(r.rest) > 0; {
		id := r.readByte()
		section := r.readBytes(r.readCount(MaxModule))
		if r.err != nil {
			return nil, r.err
		}
		if id == sectionCustom { // names and debugging data, which nothing here reads
			continue
		}
		body, err := m.prepareSection(id, section)
		if err != nil {
			return nil, err
		}
		m.code = append(binary.AppendUvarint(append(m.code, id), uint64(len(body))), body...)
	}
	return m, nil
}

func (m *preparedModule) prepareSection(id byte, section []byte) (body []byte, err error) {
	// What reads the module makes room for as many members as a section claims.
	if id != sectionStart && id != sectionDataCount {
		claims := moduleReader{rest: section}
		if claims.readCount(uint64(len(section))); claims.err != nil {
			return nil, claims.err
		}
	}
	r := moduleReader{rest: section}
	switch id {
	case sectionImport:
		err = checkImports(&r)
	case sectionFunction:
		r.readCount(maxFunctions)
	case sectionTable:
		m.checkTables(&r)
	case sectionGlobal:
		r.readCount(maxGlobals)
	case sectionCode:
		section = guardFunctions(&r)
	}
	return section, errors.Join(r.err, err)
}

// checkImports refuses everything that the host does not give, by its name.
func checkImports(r *moduleReader) error {
	for range r.readCount(maxFunctions) {
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
		r.readCount(1<<32 - 1) // its type
	}
	return nil
}

// isOffered reports whether the host gives a function.
func isOffered(module, name string) bool {
	return slices.ContainsFunc(offered(), func(f hostFunction) bool { return f.module == module && f.name == name })
}

func (m *preparedModule) checkTables(r *moduleReader) {
	for range r.readCount(maxTables) {
		r.readByte() // what it holds
		bounded := r.readByte()&1 != 0
		r.readCount(maxElements)
		if bounded {
			r.readCount(maxElements)
		} else {
			m.fixedTables = false
		}
	}
}

// moduleReader reads the binary format and remembers the first fault.
type moduleReader struct {
	rest []byte
	err  error
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
	return int(n)
}

func (r *moduleReader) readName() string { return string(r.readBytes(r.readCount(1 << 12))) }
