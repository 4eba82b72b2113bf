package gateway_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// asksHello opens a session whose client shows forms to a person.
var asksHello = strings.Replace(hello, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1)

// both reads two lines in any order: the answer to a call, and the message that
// its question is over.
func both(t *testing.T, r *bufio.Reader, wants ...string) {
	t.Helper()
	var lines string
	for range wants {
		text, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		lines += text
	}
	for _, want := range wants {
		if !strings.Contains(lines, want) {
			t.Errorf("lines = %s, want %s among them", lines, want)
		}
	}
}

// TestAPersonWhoDoesNotAnswer: the question ends, answers to questions that
// were never asked are ignored, and the call stays held.
func TestAPersonWhoDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		s, _ := d.stdio(t)
		r := bufio.NewReader(s.out)
		line := func(want string) string {
			t.Helper()
			text, err := r.ReadString('\n')
			if err != nil || !strings.Contains(text, want) {
				t.Fatalf("line = %.300s, %v, want %s", text, err, want)
			}
			return text
		}
		send(t, s.in, asksHello)
		line(`"id":0`)
		begun := time.Now()
		send(t, s.in, callLine(1, "held", `{}`)+
			`{"jsonrpc":"2.0","id":77,"result":{"action":"accept","content":{"approve":true}}}`+"\n"+
			`{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}`+"\n"+callLine(2, "free", `{}`))
		for _, text := range []string{line(`"`), line(`"`)} {
			if !strings.Contains(text, `"elicitation/create"`) && !strings.Contains(text, `"id":2,"result"`) {
				t.Errorf("line = %s, want a question and the answer to another call", text)
			}
		}
		both(t, r, `"sallyport/code":"approval_required"`, `"notifications/cancelled"`)
		if took := time.Since(begun); took != 5*time.Minute || d.ran.Load() != 1 {
			t.Errorf("answered after %s and %d runs, want 5m0s and the other call's", took, d.ran.Load())
		}
		if got := d.decisions(); got != nil {
			t.Errorf("decisions = %v, want none", got)
		}
		s.in.Close()
		<-s.done
	})
}

// TestACallThatIsCancelledAsksNobody: its question ends with it.
func TestACallThatIsCancelledAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		s, _ := d.stdio(t)
		r := bufio.NewReader(s.out)
		send(t, s.in, asksHello)
		begun := time.Now()
		for _, next := range []struct{ want, send string }{
			{`"id":0`, callLine(1, "held", `{}`)},
			{`"elicitation/create"`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"},
		} {
			text, err := r.ReadString('\n')
			if err != nil || !strings.Contains(text, next.want) {
				t.Fatalf("line = %.300s, %v, want %s", text, err, next.want)
			}
			send(t, s.in, next.send)
		}
		both(t, r, `"id":1,"result"`, `"notifications/cancelled"`)
		if time.Since(begun) != 0 || d.ran.Load() != 0 || d.decisions() != nil {
			t.Errorf("the question ended after %s with %d runs, want at once and none", time.Since(begun), d.ran.Load())
		}
		s.in.Close()
		<-s.done
	})
}

// TestAPersonIsAskedTenThingsAtOnce at most; the next call stays held without a
// question.
func TestAPersonIsAskedTenThingsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		s, _ := d.stdio(t)
		r := bufio.NewReader(s.out)
		send(t, s.in, asksHello)
		begun := time.Now()
		for i := range 12 {
			text, err := r.ReadString('\n')
			want := `"elicitation/create"`
			switch i {
			case 0:
				want = `"id":0`
			case 11:
				want = `"sallyport/code":"approval_required"`
			}
			if err != nil || !strings.Contains(text, want) || time.Since(begun) != 0 {
				t.Fatalf("line %d = %.300s, %v after %s, want %s at once", i, text, err, time.Since(begun), want)
			}
			if i < 11 {
				send(t, s.in, callLine(i+1, "held", fmt.Sprintf(`{"n%d":1}`, i))) // each of another shape
			}
		}
		s.in.Close()
		go func() {
			for {
				if _, err := r.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		<-s.done
	})
}

// TestCallsOfOneShapeAreOneQuestion: those that come while one of them is asked about are
// the next question together, one yes is for exactly these, and the form says what is new.
func TestCallsOfOneShapeAreOneQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		d.news = "argument /to: none of the last 3 calls that ran had it"
		s, _ := d.stdio(t)
		r := bufio.NewReader(s.out)
		line := func(wants ...string) string {
			t.Helper()
			text, err := r.ReadString('\n')
			for _, want := range wants {
				if err != nil || !strings.Contains(text, want) {
					t.Fatalf("line = %.900s, %v, want %s", text, err, want)
				}
			}
			return text
		}
		answer := func(text string, approve bool) {
			t.Helper()
			send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"approve":%t}}}`+"\n", questionID.FindStringSubmatch(text)[1], approve))
		}
		send(t, s.in, asksHello)
		line(`"id":0`)
		send(t, s.in, callLine(1, "held", `{"to":"a","n":1}`))
		first := line("holds this call", `\"to\":\"a\"`, "New: argument /to: none of the last 3 calls that ran had it.", "A yes lets this call run once, with exactly these arguments.")
		for i, to := range []string{"b", "b", "c"} {
			send(t, s.in, callLine(i+2, "held", fmt.Sprintf(`{"to":%q,"n":1}`, to)))
		}
		synctest.Wait()
		answer(first, true)
		var second string
		for range 2 { // the result of the first call, and the second question
			if text := line(); strings.Contains(text, "elicitation/create") {
				second = text
			}
		}
		for _, want := range []string{"holds these 2 calls", `The same in all: {\"n\":1}`, `Arguments: {\"to\":\"b\"}`, `Arguments: {\"to\":\"c\"}`, "each of these calls run once"} {
			if !strings.Contains(second, want) {
				t.Errorf("the second question is %s, want %s", second, want)
			}
		}
		send(t, s.in, callLine(5, "held", `{"to":"late","n":1}`))
		synctest.Wait()
		if d.ran.Load() != 1 {
			t.Fatalf("%d calls ran after the first yes, want the one that was shown", d.ran.Load())
		}
		answer(second, true)
		last := ""
		for range 5 { // three results, of which one is held anew, and the questions that follow
			text := line()
			if strings.Contains(text, "elicitation/create") {
				last = text
				break
			}
		}
		if !strings.Contains(last, "late") {
			t.Errorf("the next question is %s, want the call that came after the display", last)
		}
		answer(last, false)
		go func() {
			for {
				if _, err := r.ReadString('\n'); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		s.in.Close()
		<-s.done
	})
}
