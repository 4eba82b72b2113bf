package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
)

// roundLine returns a round of a call over stdio.
func roundLine(id int, tool, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,%s,%s}}`, id, tool, more, able) + "\n"
}

// reader reads the lines of a stream.
type reader struct {
	t *testing.T
	*bufio.Reader
}

func (r reader) line(want string) string {
	r.t.Helper()
	text, err := r.ReadString('\n')
	if err != nil || !strings.Contains(text, want) {
		r.t.Fatalf("line = %.400s, %v, want %s", text, err, want)
	}
	return text
}

// state reads a question and returns its state.
func (r reader) state() string {
	r.t.Helper()
	var m round
	if err := json.Unmarshal([]byte(r.line(`"requestState"`)), &m); err != nil {
		r.t.Fatal(err)
	}
	return m.Result.RequestState
}

// TestARoundThatNobodyBrings: after five minutes the tool gets an error, and
// the state is no longer valid.
func TestARoundThatNobodyBrings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInquiry(t)
		s, _ := in.stdio(t)
		r := reader{t, bufio.NewReader(s.out)}
		begun := time.Now()
		send(t, s.in, roundLine(1, "careless", `"arguments":{}`))
		state := r.state()
		if err := <-in.told; err == nil || err.Error() != "no answer came in time" || time.Since(begun) != 5*time.Minute {
			t.Errorf("the tool was told %v after %s, want that no answer came after 5m0s", err, time.Since(begun))
		}
		synctest.Wait()
		if in.Parked() != 0 {
			t.Errorf("%d calls wait, want none", in.Parked())
		}
		send(t, s.in, roundLine(2, "careless", bring(`{}`, state, ann)))
		r.line("requestState: it has expired")
		if in.ran.Load() != 1 {
			t.Errorf("%d runs, want one", in.ran.Load())
		}
		s.in.Close()
		<-s.done
	})
}

// TestAnAnswerJustInTime: the time for which a person thinks does not count
// against the tool's minute, and the answer starts no second run.
func TestAnAnswerJustInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInquiry(t)
		s, _ := in.stdio(t)
		r := reader{t, bufio.NewReader(s.out)}
		send(t, s.in, roundLine(1, "twice", `"arguments":{}`))
		state := r.state()
		time.Sleep(4 * time.Minute)
		send(t, s.in, roundLine(2, "twice", bring(`{}`, state, ann)))
		state = r.state()
		time.Sleep(4 * time.Minute)
		send(t, s.in, roundLine(3, "twice", bring(`{}`, state, `"colour":{"action":"decline"}`)))
		if got := r.line(`"id":3`); !strings.Contains(got, "Ann") || in.ran.Load() != 1 {
			t.Errorf("answered %s after %d runs, want Ann and one", got, in.ran.Load())
		}
		s.in.Close()
		<-s.done
	})
}

// TestAStreamThatCloses ends the calls that wait for its next round, at once.
func TestAStreamThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInquiry(t)
		s, _ := in.stdio(t)
		r := reader{t, bufio.NewReader(s.out)}
		send(t, s.in, roundLine(1, "careless", `"arguments":{}`))
		r.state()
		begun := time.Now()
		s.in.Close()
		<-s.done
		if err := <-in.told; err == nil || time.Since(begun) != 0 {
			t.Errorf("the tool was told %v after %s, want an error at once", err, time.Since(begun))
		}
		synctest.Wait()
		if in.Parked() != 0 || len(in.record.outcomes("careless")) != 1 {
			t.Errorf("%d calls wait, %d are recorded, want none and one", in.Parked(), len(in.record.outcomes("careless")))
		}
	})
}

// TestASessionThatDoesNotAnswer: the tool gets an error after five minutes,
// when its call is cancelled, or when the stream closes.
func TestASessionThatDoesNotAnswer(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
	for name, tt := range map[string]struct {
		send  string
		close bool
		wait  time.Duration
	}{
		"never": {wait: 5 * time.Minute}, "cancelled": {send: cancel}, "closed": {close: true, wait: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := newInquiry(t)
				s, _ := in.stdio(t)
				r := reader{t, bufio.NewReader(s.out)}
				send(t, s.in, asksHello)
				r.line(`"id":0`)
				send(t, s.in, callLine(1, "careless", `{}`))
				r.line(`"elicitation/create"`)
				go func() {
					for {
						if _, err := r.ReadString('\n'); err != nil {
							return
						}
					}
				}()
				begun := time.Now()
				if tt.close {
					s.in.Close()
				} else {
					send(t, s.in, tt.send)
				}
				if err := <-in.told; err == nil || time.Since(begun) != tt.wait {
					t.Errorf("the tool was told %v after %s, want an error after %s", err, time.Since(begun), tt.wait)
				}
				s.in.Close()
				<-s.done
			})
		})
	}
}

// TestASessionWhosePrincipalMayDoSomethingElse: changed rights end the call
// that asked.
func TestASessionWhosePrincipalMayDoSomethingElse(t *testing.T) {
	for _, changes := range []bool{false, true} {
		in := newInquiry(t)
		p := sallyport.Principal{Name: sallyport.LocalPrincipal, Person: true, Permissions: []string{"p"}}
		var err error
		if in.Server, err = gateway.New(in.registry, &gateway.Options{
			Personality: "role", Principal: func() sallyport.Principal { return p },
		}); err != nil {
			t.Fatal(err)
		}
		s, _ := in.stdio(t)
		r := reader{t, bufio.NewReader(s.out)}
		send(t, s.in, asksHello)
		r.line(`"id":0`)
		send(t, s.in, callLine(1, "careless", `{}`))
		asked := questionID.FindStringSubmatch(r.line(`"elicitation/create"`))
		if changes {
			p.Permissions = nil
		}
		send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"name":"Ann"}}}`+"\n", asked[1]))
		want := "went on"
		if changes {
			want = "The call was ended: the caller may not call any more"
		}
		r.line(want)
		if err := <-in.told; (err != nil) != changes {
			t.Errorf("changes %v: the tool was told %v", changes, err)
		}
		s.in.Close()
		<-s.done
	}
}

// TestASessionIsAskedTenThingsAtOnce at most.
func TestASessionIsAskedTenThingsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInquiry(t)
		s, _ := in.stdio(t)
		r := reader{t, bufio.NewReader(s.out)}
		send(t, s.in, asksHello)
		r.line(`"id":0`)
		for i := range 11 {
			send(t, s.in, callLine(i+1, "asks", fmt.Sprintf(`{"n":%d}`, i)))
			if i < 10 {
				r.line(`"elicitation/create"`)
			}
		}
		r.line("not_available: too many questions wait for an answer")
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

// TestAnApprovedCallAsksNobodyWhileItRuns: the slot of its question is free for
// others.
func TestAnApprovedCallAsksNobodyWhileItRuns(t *testing.T) {
	in := newInquiry(t)
	in.role.Approvals.Require = append(in.role.Approvals.Require, "slow")
	s, stop := in.stdio(t)
	r := reader{t, bufio.NewReader(s.out)}
	send(t, s.in, asksHello)
	r.line(`"id":0`)
	for i := range 10 {
		send(t, s.in, callLine(i+1, "slow", fmt.Sprintf(`{"n":%d}`, i)))
		for _, content := range []string{`{"approve":true}`, `{"name":"Ann"}`} {
			asked := questionID.FindStringSubmatch(r.line(`"elicitation/create"`))
			send(t, s.in, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":%s}}`+"\n", asked[1], content))
		}
		if err := <-in.told; err != nil {
			t.Fatal(err)
		}
	}
	send(t, s.in, callLine(11, "asks", `{}`))
	r.line(`"elicitation/create"`)
	go func() {
		for {
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	stop()
	<-s.done
}
