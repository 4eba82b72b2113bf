package plugin_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// remembers is a module that answers with a failure from its second call on: it marks its
// memory.
func remembers() *module {
	const first, later = `{"ok":true,"value":"first"}`, `{"ok":true,"value":"later"}`
	return &module{
		Data: first + later,
		Call: code(i32(8192), 0x2d, 0, 0, 0x04, void, // if the mark is set
			i32(4096+int32(len(first))), i32(int32(len(later))), invoke(answer),
			0x05, i32(4096), i32(int32(len(first))), invoke(answer), end, // else
			i32(8192), i32(1), 0x3a, 0, 0), // set the mark
	}
}

// TestAnInstanceIsNotShared calls a module that remembers that it was called, and
// requires that only the same session, principal and role meets the same instance.
func TestAnInstanceIsNotShared(t *testing.T) {
	t.Parallel()
	p := load(t, remembers())
	a, b := sallyport.Principal{Name: "a"}, sallyport.Principal{Name: "b"}
	for _, tt := range []struct {
		what string
		c    sallyport.Call
		want string
	}{
		{"a first call", sallyport.Call{SessionKey: "s", Principal: a}, "first"},
		{"the same session", sallyport.Call{SessionKey: "s", Principal: a}, "later"},
		{"another session", sallyport.Call{SessionKey: "t", Principal: a}, "first"},
		{"another principal", sallyport.Call{SessionKey: "s", Principal: b}, "first"},
		{"another role", sallyport.Call{SessionKey: "s", Principal: a, Personality: "r"}, "first"},
		{"no session", sallyport.Call{Principal: a}, "first"},
		{"no session again", sallyport.Call{Principal: a}, "first"},
	} {
		if res, err := run(t, p, &tt.c, time.Minute); err != nil || res.Value != tt.want {
			t.Errorf("%s: %+v, %v, want %s", tt.what, res, err, tt.want)
		}
	}
	if res, err := p.Run("other")(t.Context(), &sallyport.Call{SessionKey: "s", Principal: a, Emit: func(sallyport.Progress) {}}); err != nil || res.Value != "first" {
		t.Errorf("another tool: %+v, %v, want first", res, err)
	}
}

// TestManyCallsAtOnce makes a thousand calls of many principals at the same time.
func TestManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	p := load(t, remembers())
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			c := &sallyport.Call{SessionKey: string(rune('a' + i%40)), Principal: sallyport.Principal{Name: string(rune('a' + i%7))}}
			if res, err := run(t, p, c, time.Minute); err != nil || !res.OK {
				t.Errorf("call %d: %+v, %v", i, res, err)
			}
		})
	}
	wg.Wait()
}

// TestAPrincipalLeavesRoom lets one principal fill all that it may have with runs that
// do not end, and requires that another one is served.
func TestAPrincipalLeavesRoom(t *testing.T) {
	t.Parallel()
	const text = `{"ok":true}`
	// It goes on for ever where the message is longer than 4,000 bytes.
	p := load(t, &module{Data: text, Call: code(i32(8192), i32(4000), invoke(readMore), i32(4000), 0x46, 0x04, void, forever, end, say(text))})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			c := &sallyport.Call{Principal: sallyport.Principal{Name: "greedy"}, Workspace: strings.Repeat("x", 5000), Emit: func(sallyport.Progress) {}}
			if _, err := p.Run("evil")(ctx, c); !errors.Is(err, context.Canceled) {
				t.Errorf("a run without end ended with %v", err)
			}
		})
	}
	if res, err := run(t, p, &sallyport.Call{Principal: sallyport.Principal{Name: "modest"}}, time.Minute); err != nil || !res.OK {
		t.Errorf("another principal: %+v, %v, want an answer", res, err)
	}
	cancel()
	wg.Wait()
}

// TestClosingAPluginEndsWhatRuns closes a plugin while one of its tools never ends.
func TestClosingAPluginEndsWhatRuns(t *testing.T) {
	t.Parallel()
	const message = `{"message":"here"}`
	p := load(t, &module{Imports: []string{"sallyport.progress"}, Data: message, Call: code(i32(4096), i32(int32(len(message))), invoke(2), drop, forever)})
	c := &sallyport.Call{Emit: func(sallyport.Progress) {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}}
	if res, err := run(t, p, c, time.Minute); err != nil || !strings.Contains(res.Error, "was ended: it is closed") {
		t.Errorf("the call ended with %+v, %v, want the end of the plugin", res, err)
	}
}

// TestOnlyAccessorsRefuse answers with the words of a refusal, once after an accessor gave
// it, and once without.
func TestOnlyAccessorsRefuse(t *testing.T) {
	t.Parallel()
	const message = `{"name":"/etc/passwd"}`
	failure := `{"ok":false,"error":"PATH_NOT_REACHABLE: read not permitted for /etc/passwd","code":"execution_failed"}`
	answers := code(i32(4096+int32(len(message))), i32(int32(len(failure))), invoke(answer))
	asks := code(i32(4096), i32(int32(len(message))), invoke(2), drop)
	imports := []string{"sallyport.fs_read"}
	reads := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality()}}
	p := load(t, &module{Imports: imports, Data: message + failure, Call: code(asks, answers)})
	if _, err := run(t, p, scopedtest.NewCall(t, &scopedtest.Options{Capabilities: reads}), time.Minute); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("after a refusal the call ended with %v, want that refusal", err)
	}
	p = load(t, &module{Imports: imports, Data: message + failure, Call: answers})
	if res, err := run(t, p, scopedtest.NewCall(t, &scopedtest.Options{Capabilities: reads}), time.Minute); err != nil || res.OK {
		t.Errorf("without a refusal the call ended with %+v, %v, want a failure of the plugin's", res, err)
	}
}

// TestAnUpdateThatIsLeftOpen begins an update and ends without it: the file is as it was,
// and free again.
func TestAnUpdateThatIsLeftOpen(t *testing.T) {
	t.Parallel()
	const message, text = `{"name":"a.txt"}`, `{"ok":true}`
	p := load(t, &module{Imports: []string{"sallyport.fs_update"}, Data: text + message, Call: code(i32(4096+int32(len(text))), i32(int32(len(message))), invoke(2), drop, say(text))})
	writes := sallyport.Capabilities{FSReach: &sallyport.FSCapability{Read: sallyport.FromPersonality(), Write: sallyport.FromPersonality()}}
	c := scopedtest.NewCall(t, &scopedtest.Options{Capabilities: writes, Files: map[string]string{"a.txt": "old"}})
	for range 2 {
		if res, err := run(t, p, c, time.Minute); err != nil || !res.OK {
			t.Fatalf("the call ended with %+v, %v", res, err)
		}
	}
	if b, err := fs.ReadFile(c.FS, "a.txt"); err != nil || string(b) != "old" {
		t.Errorf("the file holds %q, %v, want what it held", b, err)
	}
	if err := c.FS.UpdateFile("a.txt", func([]byte) ([]byte, error) { return []byte("new"), nil }); err != nil {
		t.Errorf("the file is not free: %v", err)
	}
}

// TestLogLinesAreBounded writes many long lines, and requires that only some come out.
func TestLogLinesAreBounded(t *testing.T) {
	t.Parallel()
	const text = `{"ok":true}`
	line := strings.Repeat("x", 1500) + "\n"
	at := 4096 + len(text)
	// The list of fd_write: the place and the length of one line.
	entry := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(at+8)), uint32(len(line)))
	write := code(i32(2), i32(int32(at)), i32(1), i32(16), invoke(2), drop)
	p := load(t, &module{Four: true, Imports: []string{"wasi_snapshot_preview1.fd_write"}, Data: text + string(entry) + line, Call: code(bytes.Repeat(write, 300), say(text))})
	var lines []string
	c := &sallyport.Call{Emit: func(e sallyport.Progress) { lines = append(lines, e.Message) }}
	if res, err := run(t, p, c, time.Minute); err != nil || !res.OK {
		t.Fatalf("the call ended with %+v, %v", res, err)
	}
	if len(lines) != 100 || len(lines[0]) != 1000 {
		t.Errorf("%d lines came out, the first of %d bytes, want 100 of 1000", len(lines), len(lines[0]))
	}
}

// TestAWriteToTheLogIsBounded writes parts that are the whole memory, many times over, and
// requires that one call of the host takes a bounded part of them, as it tells the module.
func TestAWriteToTheLogIsBounded(t *testing.T) {
	t.Parallel()
	const text = `{"ok":true}`
	entry := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, 0), 4<<20)
	write := code(i32(2), i32(int32(4096+len(text))), i32(1024), i32(16), invoke(2), drop)
	taken := code(i32(16), 0x28, 2, 0, i32(1<<20), 0x47, 0x04, void, trap, end) // traps unless it was a MiB
	p := load(t, &module{Four: true, Memory: []byte{0, 64}, Imports: []string{"wasi_snapshot_preview1.fd_write"}, Data: text + strings.Repeat(string(entry), 1024), Call: code(write, taken, say(text))})
	if res, err := run(t, p, &sallyport.Call{}, time.Minute); err != nil || !res.OK {
		t.Errorf("the call ended with %+v, %v, want a part of a MiB", res, err)
	}
}
