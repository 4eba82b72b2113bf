package upstream

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// manyZeros is the inside of a long list of small items: 2 MiB of text, of which a
// decoder makes fifty.
var manyZeros = strings.Repeat("0,", 1<<20) + "0"

// allocate returns how many bytes a function allocates. No other test may run at
// the time.
func allocate(do func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// bareLink returns a link to a server that does nothing.
func bareLink() *connLink {
	return &connLink{s: &mountedServer{m: &Mounts{memory: newMemory()}}}
}

// barePipe returns the connection to a process that writes a text and then nothing
// more.
func barePipe(text string) (*processPipe, *messageMemory) {
	l := bareLink()
	open, _ := io.Pipe()
	return newPipe(l, newStdinWriter(), io.NopCloser(io.MultiReader(strings.NewReader(text), open))), l.s.m.memory
}

// TestAListOfMessagesIsReadOneByOne: an item of a list takes no memory before its
// turn.
func TestAListOfMessagesIsReadOneByOne(t *testing.T) {
	text := `[{"jsonrpc":"2.0","method":"a"},` + manyZeros + "]\n"
	p, memory := barePipe(text)
	w := &messageWire{Connection: p, l: p.frame.l}
	most := 8 * len(text)
	if got := allocate(func() {
		if m, err := p.Read(t.Context()); err != nil || m.(*jsonrpc.Request).Method != "a" {
			t.Errorf("the first message = %v, %v", m, err)
		}
	}); got > most {
		t.Errorf("a list of %d bytes takes %d, want at most %d", len(text), got, most)
	}
	if memory.Held() < int64(len(text)) {
		t.Errorf("%d bytes are counted, want the whole list", memory.Held())
	}
	if m, err := p.Read(t.Context()); err == nil {
		t.Errorf("the second message = %v, want an error", m)
	}
	_, held := w.lastMessage()
	w.dropUnread(held)
	if memory.Held() != 0 {
		t.Errorf("%d bytes are held after the connection broke", memory.Held())
	}
}

// TestAListOfTooManyMessages ends at the bound: what follows is not read.
func TestAListOfTooManyMessages(t *testing.T) {
	t.Parallel()
	p, _ := barePipe("[" + strings.Repeat(`{"jsonrpc":"2.0","method":"a"},`, maxBatch) + "1]\n")
	for n := range maxBatch {
		if _, err := p.Read(t.Context()); err != nil {
			t.Fatalf("message %d: %v", n, err)
		}
	}
	if m, err := p.Read(t.Context()); !errors.Is(err, errBatch) {
		t.Errorf("one message more = %v, %v, want %v", m, err, errBatch)
	}
}

// TestAnAnswerInAList is counted for itself, until it is used, and the list until its
// end.
func TestAnAnswerInAList(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	note := `{"jsonrpc":"2.0","method":"a","params":{"x":"` + long + `"}}`
	p, memory := barePipe("[" + note + `, {"jsonrpc":"2.0","id":1,"result":{"x":"` + long + `"}} , ` + note + "]\n" + `{"jsonrpc":"2.0","method":"last"}` + "\n")
	for n, least := range []int64{8 << 20, 8 << 20, 2 << 20} { // two bytes for one
		if _, err := p.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if held := memory.Held(); held < least || n == 2 && held > 2*least {
			t.Errorf("%d bytes are held with message %d, want %d", held, n, least)
		}
		memory.releaseHolding(p.claimHolding())
	}
	if held := memory.Held(); held != 0 {
		t.Errorf("%d bytes are held after the list", held)
	}
	if m, err := p.Read(t.Context()); err != nil || m.(*jsonrpc.Request).Method != "last" {
		t.Errorf("the message after the list = %v, %v", m, err)
	}
}

// TestAPageStopsAtTheBound of the definitions, and takes no memory for what it does not
// return.
func TestAPageStopsAtTheBound(t *testing.T) {
	page := []byte(`{"tools":[` + manyZeros + `],"nextCursor":"x"}`)
	if got := allocate(func() {
		if items, _, err := splitPage(page, "tools", maxTools); !errors.Is(err, errLongPage) {
			t.Errorf("a long page = %d items, %v, want %v", len(items), err, errLongPage)
		}
	}); got > len(page) {
		t.Errorf("a page of %d bytes takes %d", len(page), got)
	}
	junk := []byte(`{` + strings.ReplaceAll(manyZeros, "0,", `"a":0,`)[:6<<20-1] + `,"tools":[{}, [1] ]}`)
	if got := allocate(func() {
		if items, _, err := splitPage(junk, "tools", 2); err != nil || len(items) != 2 || string(items[1]) != "[1]" {
			t.Errorf("a page with many members = %q, %v", items, err)
		}
	}); got > len(junk) {
		t.Errorf("a page of %d bytes takes %d", len(junk), got)
	}
}

// TestSplitPage accepts what the protocol's library accepts.
func TestSplitPage(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`{}`: ``, `{"tools":null,"nextCursor":null}`: ``, ` {"nextCursor" : "n" , "tools" : [ ] } `: `n`,
		`{"tools":[{"name":"a"} , 1],"nextCursor":""}`: `{"name":"a"}|1|`,
		`{"tools":[1],"tools":[2]}`:                    `2|`,
		`{"tools":{}}`:                                 `!`, `{"nextCursor":1}`: `!`, `[]`: `!`, ``: `!`, `{"tools":[1]`: `!`, `null`: `!`,
	} {
		items, next, err := splitPage([]byte(page), "tools", 2)
		got := ""
		for _, item := range items {
			got += string(item) + "|"
		}
		if got += next; err != nil {
			got = "!"
		}
		if got != want {
			t.Errorf("the page %s = %q, want %q", page, got, want)
		}
	}
}
