// Package plugintest writes WebAssembly modules byte by byte, for tests of plugins.
package plugintest

import "encoding/binary"

// Module is a WebAssembly module that a test writes byte by byte. Its functions of the
// host come first; then come tools and call, and those in more.
type Module struct {
	Imports []string // "module.name" of type (I32, I32) → I32
	Answers string   // what sallyport_tools answers with; empty for one tool
	Call    []byte   // the code of sallyport_call, without its end
	Locals  []byte   // the local variables of sallyport_call; nil for none
	Tools   []byte   // the code of sallyport_tools in place of an Answer
	Start   []byte   // the code of a start Function; nil for none
	Init    []byte   // the code of _initialize; nil for none
	Data    string   // lies at 4096
	Memory  []byte   // the limits of the memory; nil for at least one page
	Tables  []byte   // the content of the Section of tables; nil for none
	Globals []byte   // and of that of variables
	Fills   []byte   // and of that of the segments of tables
	Behind  []byte   // what stands behind the functions, which the section does not count
	More    []byte   // a whole Section behind all others
	Export  string   // the name of the memory; empty for memory
	Four    bool     // the imports have four parameters
}

// OneTool is the list of one tool that declares nothing.
const OneTool = `[{"id":"evil","description":"Does harm"}]`

// Count writes a number as the format does.
func Count(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// encodeSigned writes a signed number, as constants are.
func encodeSigned(n int32) (b []byte) {
	for {
		part := byte(n & 0x7f)
		n >>= 7
		if n == 0 && part&0x40 == 0 || n == -1 && part&0x40 != 0 {
			return append(b, part)
		}
		b = append(b, part|0x80)
	}
}

// code joins opcodes, given as bytes, and texts of code.
func Code(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// I32 is the instruction that puts a constant on the stack.
func I32(n int32) []byte { return append([]byte{0x41}, encodeSigned(n)...) }

// Invoke is the instruction that calls a Function by its number.
func Invoke(n int) []byte { return append([]byte{0x10}, Count(n)...) }

// Opcodes, and the numbers of the first two imported functions.
const (
	Drop       = 0x1a
	Loop       = 0x03
	Void       = 0x40
	Branch     = 0x0c
	End        = 0x0b
	Trap       = 0x00
	GrowMemory = 0x40
	Answer     = 0 // the number of the function sallyport.answer
	ReadMore   = 1 // and of sallyport.read; further imports follow
)

// Forever is a Loop that never ends.
var Forever = Code(Loop, Void, Branch, 0, End)

// Say answers with the data of a module.
func Say(text string) []byte { return Code(I32(4096), I32(int32(len(text))), Invoke(Answer)) }

// Vector is a list with its length.
func Vector(items ...[]byte) (b []byte) {
	b = Count(len(items))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

// Name is a text with its length.
func Name(s string) []byte { return append(Count(len(s)), s...) }

// Section is a section of a module.
func Section(id byte, content []byte) []byte {
	return append(append([]byte{id}, Count(len(content))...), content...)
}

// Function is a function without local variables, of code without its end.
func Function(code []byte) []byte {
	body := append(append([]byte{0}, code...), End)
	return append(Count(len(body)), body...)
}

// Bytes returns the text of the module.
func (m *Module) Bytes() []byte {
	const none, one, two, four = 0, 1, 2, 3 // types: see the first Section
	imported := two
	if m.Four {
		imported = four
	}
	imports := [][]byte{
		Code(Name("sallyport"), Name("answer"), 0, one),
		Code(Name("sallyport"), Name("read"), 0, two),
	}
	for _, full := range m.Imports {
		at := 0
		for at < len(full) && full[at] != '.' {
			at++
		}
		imports = append(imports, Code(Name(full[:at]), Name(full[at+1:]), 0, imported))
	}
	if m.Answers == "" {
		m.Answers = OneTool
	}
	tools := m.Tools
	if tools == nil {
		tools = Code(I32(1024), I32(int32(len(m.Answers))), Invoke(Answer))
	}
	first := len(imports)
	locals := m.Locals
	if locals == nil {
		locals = []byte{0}
	}
	bodies := [][]byte{Function(tools), Name(string(Code(locals, m.Call, End)))}
	exports := [][]byte{
		Code(Name("sallyport_tools"), 0, Count(first)), Code(Name("sallyport_call"), 0, Count(first+1)),
	}
	memory := "memory"
	if m.Export != "" {
		memory = m.Export
	}
	exports = append(exports, Code(Name(memory), 2, 0))
	if m.Init != nil {
		exports = append(exports, Code(Name("_initialize"), 0, Count(first+len(bodies))))
		bodies = append(bodies, Function(m.Init))
	}
	start := []byte(nil)
	if m.Start != nil {
		start = Section(8, Count(first+len(bodies)))
		bodies = append(bodies, Function(m.Start))
	}
	types := make([][]byte, len(bodies))
	for i := range types {
		types[i] = Count(none)
	}
	limits := m.Memory
	if limits == nil {
		limits = []byte{0, 1}
	}
	optional := func(id byte, content []byte) []byte {
		if content == nil {
			return nil
		}
		return Section(id, content)
	}
	segment := func(at int32, text string) []byte { return Code(0, I32(at), End, Name(text)) }
	return Code([]byte("\x00asm\x01\x00\x00\x00"),
		Section(1, Vector([]byte{0x60, 0, 0}, []byte{0x60, 2, 0x7f, 0x7f, 0}, []byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}, []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f})),
		Section(2, Vector(imports...)), Section(3, Vector(types...)), optional(4, m.Tables), Section(5, Vector(limits)), optional(6, m.Globals),
		Section(7, Vector(exports...)), start, optional(9, m.Fills), Section(10, Code(Vector(bodies...), m.Behind)),
		Section(11, Vector(segment(1024, m.Answers), segment(4096, m.Data))), m.More)
}
