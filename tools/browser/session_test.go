package browser

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
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

func TestAConversationIsBounded(t *testing.T) {
	t.Parallel()
	c := newConversation()
	answer, err := c.sendCommand("", "A.b", nil)
	if err != nil {
		t.Fatal(err)
	}
	long := []byte(`{"id":1,"result":"` + strings.Repeat("x", maxMessageBytes) + "\"}\x00")
	for len(long) > 0 {
		n := min(len(long), 1<<20)
		_, _ = c.Write(long[:n])
		long = long[n:]
	}
	if err := decodeAnswer(<-answer, "A.b", nil); !errors.Is(err, errTooLong) || cap(c.message) > maxMessageBytes {
		t.Errorf("a message that is too long: %v", err)
	}
	_, _ = c.Write([]byte("{\"method\":\"X.y\"}\x00nonsense\x00\x00{\"id\":99}\x00{\"id\":2,\"error\":{\"message\":\"no\"}}\x00"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.askBrowser(ctx, "", "A.b", nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled question: %v", err)
	}
	if _, err := c.sendCommand("", "A.b", strings.Repeat("x", maxWaitingBytes)); !errors.Is(err, errNotReading) {
		t.Errorf("a browser that does not read: %v", err)
	}
	c.end(errors.New("gone"))
	if err := c.askBrowser(t.Context(), "", "A.b", nil, nil); err == nil || err.Error() != "gone" {
		t.Errorf("a question to a browser that is gone: %v", err)
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
