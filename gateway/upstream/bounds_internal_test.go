package upstream

import (
	"bytes"
	"encoding/json"
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

// TestWhatTheLibraryWouldDecode is refused or left out before it takes memory: an id
// that is a list, and what a report of progress holds besides.
func TestWhatTheLibraryWouldDecode(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"a","id":[` + manyZeros + `]}`, `{"jsonrpc":"2.0","\u0069d":{"a":[` + manyZeros + `]},"error":{"code":1,"message":"x"}}`,
	} {
		if got := allocate(func() {
			if m, err := decodeMessage([]byte(text)); err == nil {
				t.Errorf("the message = %v, want an error", m)
			}
		}); got > 2*len(text) {
			t.Errorf("a message of %d bytes takes %d", len(text), got)
		}
	}
	for params, ok := range map[string]bool{
		`{"progressToken":"a","message":"m","progress":1,"total":2,"_meta":{"x":[` + manyZeros + `]}}`: true,
		`{"progressToken":[` + manyZeros + `]}`:                                                        false,
	} {
		if got := allocate(func() {
			p := decodeProgress([]byte(params))
			if (p != nil) != ok || ok && (p.ProgressToken != "a" || p.Message != "m" || p.Progress != 1 || p.Total != 2) {
				t.Errorf("the progress = %+v", p)
			}
		}); got > 4*len(params) {
			t.Errorf("progress of %d bytes takes %d", len(params), got)
		}
	}
}

// TestTheFirstAnswerIsBounded before the library decodes it, and so is what an error
// says beside its text.
func TestTheFirstAnswerIsBounded(t *testing.T) {
	t.Parallel()
	id, err := jsonrpc.MakeID(1.0)
	if err != nil {
		t.Fatal(err)
	}
	l := bareLink()
	w := &messageWire{l: l, asked: map[jsonrpc.ID]awaitedRequest{id: {"initialize", &l.greeting}}}
	if _, err := w.storeResult(&jsonrpc.Response{ID: id, Result: make(json.RawMessage, maxGreeting+1)}, nil); !errors.Is(err, errGreeting) || l.limit.Load() != errGreeting {
		t.Errorf("a long first answer = %v, want %v", err, errGreeting)
	}
	w.asked[id] = awaitedRequest{"server/discover", &l.greeting}
	failed := &jsonrpc.Error{Code: -32022, Data: make(json.RawMessage, maxErrorData+1)}
	if ok, err := w.storeResult(&jsonrpc.Response{ID: id, Error: failed}, nil); !ok || err != nil || failed.Data != nil {
		t.Errorf("an error = %v, %v with %d bytes of data, want none", ok, err, len(failed.Data))
	}
}

// TestValuesInABody that the library decodes are counted, whatever pieces it arrives in,
// and what stands in strings is not.
func TestValuesInABody(t *testing.T) {
	t.Parallel()
	text := `{"a,[{":"\",[\\","b":[1,{},[]]}` + "\n: a comment, \"with\ndata: [1,2]"
	for piece := 1; piece < len(text); piece++ {
		var c valueCounter
		for rest := []byte(text); len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			c.addText(rest[:min(piece, len(rest))])
		}
		if c.count != 10 {
			t.Errorf("in pieces of %d bytes: %d, want 10", piece, c.count)
		}
	}
	long := `{"jsonrpc":"2.0","id":[` + manyZeros + `]}`
	for _, events := range []bool{false, true} {
		for counted, want := range map[bool]error{false: nil, true: errTooMany} {
			b := &boundedBody{rc: io.NopCloser(strings.NewReader("data: " + long + "\n\n")), l: bareLink(), events: events, counted: counted, flow: rateMeter{rate: whileWorking}}
			if _, err := io.Copy(io.Discard, b); !errors.Is(err, want) {
				t.Errorf("events %v, counted %v: %v, want %v", events, counted, err, want)
			}
		}
		few := bytes.Repeat([]byte("data: ["+strings.Repeat("0,", maxDecoded/2)+"0]\n\n"), 3)
		b := &boundedBody{rc: io.NopCloser(bytes.NewReader(few)), l: bareLink(), events: true, counted: true, flow: rateMeter{rate: whileWorking}}
		if _, err := io.Copy(io.Discard, b); err != nil {
			t.Errorf("three events with half of the values each: %v", err)
		}
	}
}
