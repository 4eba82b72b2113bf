package plugin_test

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/plugin"
)

// module is a WebAssembly module that a test writes byte by byte. Its functions of the
// host come first; then come tools and call, and those in more.
type module struct {
	imports []string // "module.name" of type (i32, i32) → i32
	answers string   // what sallyport_tools answers with; empty for one tool
	call    []byte   // the code of sallyport_call, without its end
	tools   []byte   // the code of sallyport_tools in place of an answer
	start   []byte   // the code of a start function; nil for none
	init    []byte   // the code of _initialize; nil for none
	data    string   // lies at 4096
	memory  []byte   // the limits of the memory; nil for at least one page
	tables  []byte   // the content of the section of tables; nil for none
	more    []byte   // a whole section behind all others
	export  string   // the name of the memory; empty for memory
	four    bool     // the imports have four parameters
}

// oneTool is the list of one tool that declares nothing.
const oneTool = `[{"id":"evil","description":"Does harm"}]`

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// sleb writes a signed number, as constants are.
func sleb(n int32) (b []byte) {
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
func code(parts ...any) (b []byte) {
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

// i32 is the instruction that puts a constant on the stack.
func i32(n int32) []byte { return append([]byte{0x41}, sleb(n)...) }

// invoke is the instruction that calls a function by its number.
func invoke(n int) []byte { return append([]byte{0x10}, leb(n)...) }

const (
	drop     = 0x1a
	loop     = 0x03
	void     = 0x40
	branch   = 0x0c
	end      = 0x0b
	trap     = 0x00
	growMem  = 0x40
	answer   = 0 // the number of the function sallyport.answer
	readMore = 1 // and of sallyport.read; further imports follow
)

// forever is a loop that never ends.
var forever = code(loop, void, branch, 0, end)

// say answers with the data of a module.
func say(text string) []byte { return code(i32(4096), i32(int32(len(text))), invoke(answer)) }

func vector(items ...[]byte) (b []byte) {
	b = leb(len(items))
	for _, i := range items {
		b = append(b, i...)
	}
	return b
}

func name(s string) []byte { return append(leb(len(s)), s...) }

func section(id byte, content []byte) []byte {
	return append(append([]byte{id}, leb(len(content))...), content...)
}

func function(code []byte) []byte {
	body := append(append([]byte{0}, code...), end)
	return append(leb(len(body)), body...)
}

// bytes returns the text of the module.
func (m *module) bytes() []byte {
	const none, one, two, four = 0, 1, 2, 3 // types: see the first section
	imported := two
	if m.four {
		imported = four
	}
	imports := [][]byte{
		code(name("sallyport"), name("answer"), 0, one),
		code(name("sallyport"), name("read"), 0, two),
	}
	for _, full := range m.imports {
		at := 0
		for at < len(full) && full[at] != '.' {
			at++
		}
		imports = append(imports, code(name(full[:at]), name(full[at+1:]), 0, imported))
	}
	if m.answers == "" {
		m.answers = oneTool
	}
	tools := m.tools
	if tools == nil {
		tools = code(i32(1024), i32(int32(len(m.answers))), invoke(answer))
	}
	first := len(imports)
	bodies := [][]byte{function(tools), function(m.call)}
	exports := [][]byte{
		code(name("sallyport_tools"), 0, leb(first)), code(name("sallyport_call"), 0, leb(first+1)),
	}
	memory := "memory"
	if m.export != "" {
		memory = m.export
	}
	exports = append(exports, code(name(memory), 2, 0))
	if m.init != nil {
		exports = append(exports, code(name("_initialize"), 0, leb(first+len(bodies))))
		bodies = append(bodies, function(m.init))
	}
	start := []byte(nil)
	if m.start != nil {
		start = section(8, leb(first+len(bodies)))
		bodies = append(bodies, function(m.start))
	}
	types := make([][]byte, len(bodies))
	for i := range types {
		types[i] = leb(none)
	}
	limits := m.memory
	if limits == nil {
		limits = []byte{0, 1}
	}
	tables := []byte(nil)
	if m.tables != nil {
		tables = section(4, m.tables)
	}
	segment := func(at int32, text string) []byte { return code(0, i32(at), end, name(text)) }
	return code([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vector([]byte{0x60, 0, 0}, []byte{0x60, 2, 0x7f, 0x7f, 0}, []byte{0x60, 2, 0x7f, 0x7f, 1, 0x7f}, []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f})),
		section(2, vector(imports...)), section(3, vector(types...)), tables, section(5, vector(limits)),
		section(7, vector(exports...)), start, section(10, vector(bodies...)),
		section(11, vector(segment(1024, m.answers), segment(4096, m.data))), m.more)
}

// load loads a module, and closes it with the test.
func load(t testing.TB, m *module) *plugin.Plugin {
	t.Helper()
	p, err := plugin.Load(t.Context(), "evil", m.bytes(), &plugin.Options{MemoryMiB: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// run calls the tool of a module with a deadline.
func run(t testing.TB, p *plugin.Plugin, c *sallyport.Call, limit time.Duration) (sallyport.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if c.Emit == nil {
		c.Emit = func(sallyport.Progress) {}
	}
	return p.Run("evil")(ctx, c)
}
