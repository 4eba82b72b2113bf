package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"

func callLine(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args) + "\n"
}

// answer is a line of the server.
type answer struct {
	ID     json.RawMessage
	Result struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error *struct {
		Code    int
		Message string
	}
}

func readAnswer(t *testing.T, r *bufio.Reader) answer {
	t.Helper()
	line, err := r.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return a
}

// send writes without waiting for the server to read.
func send(t *testing.T, w io.Writer, text string) {
	t.Helper()
	go func() {
		// A server that ends stops reading; the test then checks that.
		_, _ = io.WriteString(w, text)
	}()
}

func TestInputThatEndsFinishesItsCalls(t *testing.T) {
	k := newKit(t)
	s, _ := k.stdio(t)
	go func() {
		_, _ = io.WriteString(s.in, hello+callLine(1, "echo", `{"a":1}`)+strings.TrimSpace(callLine(2, "echo", `{"a":2}`)))
		s.in.Close()
	}()
	out, err := io.ReadAll(s.out)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-s.done; err != nil {
		t.Errorf("Stdio() = %v, want nil", err)
	}
	for _, want := range []string{`"id":0,"result"`, `{\"a\":1}`, `{\"a\":2}`} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("output lacks %s:\n%s", want, out)
		}
	}
}

func TestContextThatEndsCancelsAndAnswers(t *testing.T) {
	k := newKit(t)
	s, stop := k.stdio(t)
	r := bufio.NewReader(s.out)
	send(t, s.in, hello+callLine(1, "hold", `{}`))
	readAnswer(t, r)
	<-k.started
	stop()
	if a := readAnswer(t, r); !a.Result.IsError || !strings.Contains(a.Result.Content[0].Text, "cancelled") {
		t.Errorf("answer = %+v, want that the call was cancelled", a)
	}
	if err := <-s.done; err != nil {
		t.Errorf("Stdio() = %v, want nil", err)
	}
	if got := k.record.outcomes("hold"); len(got) != 1 {
		t.Errorf("recorded %d outcomes, want 1", len(got))
	}
}

// A client that does not read must not delay the end of the server for ever.
func TestClientThatDoesNotReadHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		s, stop := k.stdio(t)
		send(t, s.in, hello)
		synctest.Wait() // the answer is being written, but the client does not read
		stop()
		if err := <-s.done; err != nil {
			t.Errorf("Stdio() = %v, want nil", err)
		}
	})
}

// If a client stops reading, the stream ends, even when the client keeps its
// own end of the input open. The decided call is recorded.
func TestClientThatIsGoneEndsTheStream(t *testing.T) {
	k := newKit(t)
	s, _ := k.stdio(t)
	send(t, s.in, hello)
	readAnswer(t, bufio.NewReader(s.out))
	s.out.Close()
	send(t, s.in, callLine(1, "echo", `{}`))
	// The error may say that the client has gone.
	<-s.done
	if got := k.record.outcomes("echo"); len(got) != 1 {
		t.Errorf("recorded %d outcomes, want 1", len(got))
	}
}

// stuck is an input whose read does not end when it is closed, like that of
// os.Stdin.
type stuck struct {
	io.Reader
}

func (stuck) Close() error { return nil }

// A line that arrives after the end of the stream is not decided any more,
// because the recorder may be closed.
func TestLineAfterTheEndIsNobodys(t *testing.T) {
	k := newKit(t)
	ctx, stop := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- k.Stdio(ctx, stuck{inR}, outW) }()
	r := bufio.NewReader(outR)
	for _, line := range []string{hello, callLine(1, "echo", `{}`), callLine(2, "echo", `{}`)} {
		send(t, inW, line)
		readAnswer(t, r)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("Stdio() = %v, want nil", err)
	}
	if _, err := io.WriteString(inW, callLine(3, "echo", `{}`)); err != nil {
		t.Fatal(err)
	}
	// The line has been read; reading the next one waits for it.
	inW.Close()
	if got := len(k.record.outcomes("echo")); got != 2 {
		t.Errorf("recorded %d calls, want the 2 before the end", got)
	}
}

// When the input ends, a running tool has a limited time to finish.
func TestInputThatEndsDoesNotWaitForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		s, _ := k.stdio(t)
		r := bufio.NewReader(s.out)
		send(t, s.in, hello+callLine(1, "hold", `{}`))
		readAnswer(t, r)
		<-k.started
		begun := time.Now()
		s.in.Close()
		if err := <-s.done; err != nil {
			t.Errorf("Stdio() = %v, want nil", err)
		}
		if took := time.Since(begun); took < 10*time.Second || took > 12*time.Second {
			t.Errorf("the server ended after %v, want 10s for the call", took)
		}
		if got := k.record.outcomes("hold"); len(got) != 1 {
			t.Errorf("recorded %d outcomes, want 1", len(got))
		}
	})
}

func TestLineThatIsTooLongIsRefusedAndTheNextIsRead(t *testing.T) {
	k := newKit(t)
	s, _ := k.stdio(t)
	r := bufio.NewReader(s.out)
	long := strings.Repeat("x", 10<<20)
	send(t, s.in, hello)
	readAnswer(t, r)
	send(t, s.in, callLine(1, "echo", `{"a":"`+long+`"}`)+callLine(2, "echo", `{}`))
	if a := readAnswer(t, r); a.Error == nil || a.Error.Code != -32600 || string(a.ID) != "null" {
		t.Errorf("answer = %+v, want error -32600 without an id", a)
	}
	if a := readAnswer(t, r); string(a.ID) != "2" || a.Result.IsError {
		t.Errorf("answer = %+v, want the one to call 2", a)
	}
}

func TestIDInUseIsRefused(t *testing.T) {
	k := newKit(t)
	s, _ := k.stdio(t)
	r := bufio.NewReader(s.out)
	send(t, s.in, hello+callLine(1, "hold", `{}`))
	readAnswer(t, r)
	<-k.started
	send(t, s.in, callLine(1, "echo", `{}`))
	if a := readAnswer(t, r); a.Error == nil || string(a.ID) != "null" {
		t.Errorf("answer = %+v, want an error without an id", a)
	}
	send(t, s.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	if a := readAnswer(t, r); string(a.ID) != "1" || !a.Result.IsError {
		t.Errorf("answer = %+v, want the cancelled call 1", a)
	}
	send(t, s.in, callLine(1, "echo", `{}`))
	if a := readAnswer(t, r); string(a.ID) != "1" || a.Result.IsError {
		t.Errorf("answer = %+v, want that id 1 is free again", a)
	}
}

// Calls beyond the bound are read when others end, and all are answered.
func TestCallsBeyondTheBoundWait(t *testing.T) {
	const calls = 300 // the bound is 256
	k := newKit(t)
	s, stop := k.stdio(t)
	r := bufio.NewReader(s.out)
	var in strings.Builder
	for i := range calls {
		in.WriteString(callLine(i+1, "hold", `{}`))
	}
	send(t, s.in, hello+in.String())
	readAnswer(t, r)
	for range 256 {
		<-k.started
	}
	select {
	case <-k.started:
		t.Error("call 257 runs beside 256 others, want it to wait")
	default:
	}
	stop()
	seen := map[string]bool{}
	for range 256 {
		seen[string(readAnswer(t, r).ID)] = true
	}
	if len(seen) != 256 {
		t.Errorf("answers to %d calls, want 256", len(seen))
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	if err := <-s.done; err != nil {
		t.Errorf("Stdio() = %v, want nil", err)
	}
}

// lateGate keeps the function that reports progress, for use after the call.
type lateGate struct {
	noForms
	report func(sallyport.Progress)
}

func (g *lateGate) Definitions(*sallyport.Caller) []registry.Definition { return nil }

func (g *lateGate) Call(_ context.Context, caller *sallyport.Caller, _ sallyport.Request) sallyport.Result {
	g.report = caller.Progress
	return sallyport.OK("done")
}

func TestNoProgressFollowsTheResult(t *testing.T) {
	gate := &lateGate{}
	server, err := gateway.New(gate, nil)
	if err != nil {
		t.Fatal(err)
	}
	k := &kit{Server: server}
	s, _ := k.stdio(t)
	r := bufio.NewReader(s.out)
	send(t, s.in, hello+`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`+"\n")
	readAnswer(t, r)
	readAnswer(t, r)
	late := make(chan struct{})
	go func() {
		defer close(late)
		gate.report(sallyport.Progress{Message: "late", Audience: sallyport.AudienceUser})
	}()
	send(t, s.in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	// A late event would be written before the second answer at the latest, or
	// block its goroutine.
	if a := readAnswer(t, r); string(a.ID) != "2" {
		t.Errorf("a line without the id of the ping follows the result: %+v", a)
	}
	<-late
}

// If the local user loses a permission, an open stream loses it too.
func TestStdioAsksWhoTheLocalUserIsAtEachCall(t *testing.T) {
	k := newKit(t)
	if err := k.registry.Register(sallyport.Tool{
		Name: "kept", Description: "Wants a permission.", Permissions: []string{"kept"}, ReadOnly: true,
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("done"), nil },
	}); err != nil {
		t.Fatal(err)
	}
	held := make(chan []string, 2)
	held <- []string{"kept"}
	held <- nil
	var err error
	if k.Server, err = gateway.New(k.registry, &gateway.Options{Principal: func() sallyport.Principal {
		return sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true, Permissions: <-held}
	}}); err != nil {
		t.Fatal(err)
	}
	s, _ := k.stdio(t)
	out := bufio.NewReader(s.out)
	send(t, s.in, hello)
	readAnswer(t, out)
	for id, refused := range []bool{false, true} {
		send(t, s.in, callLine(id+1, "kept", `{}`))
		if a := readAnswer(t, out); a.Result.IsError != refused {
			t.Errorf("call %d: %+v, want refused %v", id+1, a.Result, refused)
		}
	}
}
