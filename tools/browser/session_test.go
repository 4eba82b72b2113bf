package browser

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/tools/browser/internal/wire"
)

// idleChild is a child that only ends when it is stopped.
type idleChild struct{ done chan struct{} }

func (c idleChild) Done() <-chan struct{} { return c.done }
func (c idleChild) Wait() (sallyport.ProcessResult, error) {
	<-c.done
	return sallyport.ProcessResult{}, nil
}
func (c idleChild) Stop(time.Duration) { close(c.done) }

// addRunning adds a session of a principal whose browser runs; the older ones were used
// earlier.
func addRunning(t *sessionTable, principal, key string, age time.Duration, busy bool) (*browserSession, idleChild) {
	child := idleChild{make(chan struct{})}
	s := &browserSession{
		principal: principal, turn: make(chan struct{}, 1), running: true, lastUsed: time.Now().Add(-age),
		b: &chromium{conversation: newConversation(), child: child},
	}
	if busy {
		s.users = 1
	}
	t.all[key] = s
	return s, child
}

func TestBrowsersAreBounded(t *testing.T) {
	t.Parallel()
	table := &sessionTable{all: map[string]*browserSession{}}
	addRunning(table, "ann", "1", 3*time.Minute, true)
	addRunning(table, "ann", "2", time.Minute, false)
	oldest, child := addRunning(table, "ann", "3", 2*time.Minute, false)
	addRunning(table, "ann", "4", 0, false)
	if err := table.reserveBrowser(&browserSession{principal: "ann"}); err != nil {
		t.Fatal(err)
	}
	<-child.done // The oldest that no call uses gave way.
	if why := table.takeGone(oldest); oldest.running || !strings.Contains(why, "another session of the same principal") || table.takeGone(oldest) != "" {
		t.Errorf("the oldest: running %v, gone because %q", oldest.running, why)
	}
	for _, s := range table.all {
		s.users = 1
	}
	addRunning(table, "ann", "3", 0, true)
	if err := table.reserveBrowser(&browserSession{principal: "ann"}); err == nil || !strings.Contains(err.Error(), "4 browsers of this principal are in use") {
		t.Errorf("a fifth browser: %v", err)
	}
	for _, key := range []string{"5", "6", "7", "8"} {
		addRunning(table, "bob", key, 0, true)
	}
	if err := table.reserveBrowser(&browserSession{principal: "eve"}); err == nil || !strings.Contains(err.Error(), "8 browsers are running") {
		t.Errorf("a ninth browser: %v", err)
	}
}

// messageOf is what the browser writes for a JSON text.
func messageOf(t testing.TB, text string) wire.Value {
	t.Helper()
	message, err := wire.FromJSON([]byte(text))
	if err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return message
}

func TestAConversationIsBounded(t *testing.T) {
	t.Parallel()
	c := newConversation()
	answer := make(chan []byte, 1)
	_, err := c.sendCommand("", "A.b", nil, answer)
	if err != nil {
		t.Fatal(err)
	}
	long := messageOf(t, `{"id":1,"result":"`+strings.Repeat("x", maxMessageBytes)+`"}`)
	for len(long) > 0 {
		n := min(len(long), 1<<20)
		_, _ = c.Write(long[:n])
		long = long[n:]
	}
	if err := decodeAnswer(<-answer, "A.b", nil); !errors.Is(err, errTooLong) {
		t.Errorf("a message that is too long: %v", err)
	}
	for _, text := range []string{`{"method":"X.y"}`, `{}`, `[]`, `{"id":99}`, `{"id":2,"error":{"message":"no"}}`} {
		_, _ = c.Write(messageOf(t, text))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.askBrowser(ctx, "", "A.b", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled question: %v", err)
	}
	c.tellBrowser("", "A.b", nil)
	if len(c.answers) > 0 {
		t.Errorf("%d answers are waited for, want none: one question was cancelled, the other told", len(c.answers))
	}
	if _, err := c.sendCommand("", "A.b", strings.Repeat("x", maxWaitingBytes), nil); !errors.Is(err, errNotReading) {
		t.Errorf("a browser that does not read: %v", err)
	}
	c.end(errors.New("gone"))
	if err := c.askBrowser(t.Context(), "", "A.b", nil, nil); err == nil || err.Error() != "gone" {
		t.Errorf("a question to a browser that is gone: %v", err)
	}
}

// What becomes longer as JSON is bounded as JSON.
func TestAnAnswerThatGrowsIsBounded(t *testing.T) {
	t.Parallel()
	const n = maxMessageBytes / 5
	message := make(wire.Value, 0, n+100)
	message = append(message, 0xd8, 0x18, 0x5a, 0, 0, 0, 0, 0xbf, 0x66)
	message = append(message, "result\xd8\x18\x5a\x00\x00\x00\x00\x9f"...)
	message = append(append(message, bytes.Repeat([]byte{0xf4}, n)...), 0xff, 0xff)
	for at, length := range map[int]int{3: len(message) - 7, 18: n + 2} {
		message[at], message[at+1], message[at+2], message[at+3] = byte(length>>24), byte(length>>16), byte(length>>8), byte(length)
	}
	var out struct{ V string }
	if err := decodeAnswer(message, "A.b", &out); !errors.Is(err, errTooLong) {
		t.Errorf("an answer of %d bytes that becomes longer: %v", len(message), err)
	}
}

// A message gets little room before it is there, however long it says that it is, and none
// when it is to be dropped.
func TestAPromisedMessageTakesNoRoom(t *testing.T) {
	t.Parallel()
	for promised, most := range map[uint32]int{maxMessageBytes - 100: 2 * firstBytes, maxMessageBytes + 1: 1024, math.MaxUint32: 1024} {
		c := newConversation()
		_, _ = c.Write([]byte{0xd8, 0x18, 0x5a, byte(promised >> 24), byte(promised >> 16), byte(promised >> 8), byte(promised)})
		for range 3 {
			_, _ = c.Write(make([]byte, 1<<20))
		}
		if cap(c.message) > most {
			t.Errorf("a promise of %d bytes: room for %d", promised, cap(c.message))
		}
	}
}

// What the browser says is read wherever the pipe cuts it.
func TestMessagesComeInPieces(t *testing.T) {
	t.Parallel()
	all := slices.Concat(messageOf(t, `{"method":"X.y","params":{"a":1},"sessionId":"s"}`), messageOf(t, `{"id":1,"result":{"v":"`+strings.Repeat("x", 500)+`"}}`), messageOf(t, `{"method":"X.z"}`))
	for size := 1; size < len(all); size++ {
		c := newConversation()
		var noticed []string
		c.notice = func(session, method string, params wire.Value) { noticed = append(noticed, session+" "+method) }
		answer := make(chan []byte, 1)
		_, err := c.sendCommand("", "A.b", nil, answer)
		if err != nil {
			t.Fatal(err)
		}
		for piece := range slices.Chunk(all, size) {
			if n, err := c.Write(piece); n != len(piece) || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
		}
		var got struct{ V string }
		if err := decodeAnswer(<-answer, "A.b", &got); err != nil || len(got.V) != 500 || !slices.Equal(noticed, []string{"s X.y", " X.z"}) {
			t.Errorf("in pieces of %d: %d bytes, %v, and %q", size, len(got.V), err, noticed)
		}
	}
}

func TestAnswersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var refused *protocolError
	if err := decodeAnswer(messageOf(t, `{"id":1,"error":{"code":-32000,"message":"no"}}`), "A.b", nil); !errors.As(err, &refused) || refused.Message != "no" || refused.Code != -32000 {
		t.Errorf("a refusal: %v", err)
	}
	var out struct{ V string }
	for _, m := range []wire.Value{
		messageOf(t, `{"id":1,"result":{"v":1}}`), messageOf(t, `{"id":1,"result":`+strings.Repeat("[", 400)+strings.Repeat("]", 400)+`}`), messageOf(t, `{"id":1,"error":"x"}`),
		wire.Value("\xd8\x18\x5a\x00\x00\x00\x0d\xbf\x62id\x01\x66result\x9f\xff"),
	} {
		if err := decodeAnswer(m, "A.b", &out); err == nil || !strings.Contains(err.Error(), "answer to A.b cannot be read") {
			t.Errorf("%x: %v", m, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]keyPress{
		"Enter":           {key: "Enter", code: "Enter", text: "\r", number: 13},
		"a":               {key: "a", code: "KeyA", text: "a", number: 65},
		"+":               {key: "+", text: "+"},
		"Control++":       {key: "+", modifiers: 2},
		"Shift+ArrowLeft": {key: "ArrowLeft", code: "ArrowLeft", number: 37, modifiers: 8},
		"Control+a":       {key: "a", code: "KeyA", number: 65, modifiers: 2},
		"ß":               {key: "ß", text: "ß"},
	} {
		if got, err := parseKey(name); err != nil || got != want {
			t.Errorf("%s = %+v, %v, want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"", "enter", "ab", "Control+", "\x00", "\x7f", "\xff", "Hyper+a"} {
		if got, err := parseKey(name); err == nil {
			t.Errorf("%q = %+v, want an error", name, got)
		}
	}
}
