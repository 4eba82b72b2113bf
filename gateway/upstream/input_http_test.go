package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport"
)

// askThen lets a remote server ask a question on the stream of its answer, and
// then do something else.
func askThen(t *testing.T, p *peer, method string, params any, then func() string) {
	w := p.w.(http.ResponseWriter)
	sendEvents(t, p, asking(method, params))
	if text := then(); text != "" {
		_, _ = w.Write([]byte(text))
	}
}

// TestARemoteServerAsks on the streams of two calls at once: each question
// reaches the caller of its own call.
func TestARemoteServerAsks(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	at := newSite(t, s)
	var both sync.WaitGroup
	both.Add(2)
	turn := make(chan struct{}, 1)
	s.answer = func(p *peer, q *question) any {
		both.Done()
		both.Wait()
		turn <- struct{}{}
		defer func() { <-turn }()
		askThen(t, p, "elicitation/create", forPerson, func() string { return answerEvent(q.ID, <-at.answers) })
		return nil
	}
	done := make(chan string)
	for _, name := range []string{"Ann", "Bob"} {
		go func() {
			c := &caller{name: name}
			got := inside(at.from(t.Context(), c, "test__asks"))
			done <- fmt.Sprint(strings.Contains(got, `"n":"`+name+`"`), len(c.questions()), got)
		}()
	}
	for range 2 {
		if got := <-done; !strings.HasPrefix(got, "true 1") {
			t.Errorf("the server of a call heard %s, want its own caller, asked once", got)
		}
	}
}

// TestTheStreamOfASession is open while calls run, with the headers and through
// the accessors of a call; each call has it from its beginning.
func TestTheStreamOfASession(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	at := newSite(t, s)
	s.answer = func(_ *peer, _ *question) any {
		if !at.isOpen() {
			t.Error("no stream is open when a call begins")
			return text("not asked")
		}
		at.stream <- asking("elicitation/create", forPerson)
		return text(<-at.answers)
	}
	ann := &caller{name: "Ann"}
	for range 10 {
		if res := at.from(t.Context(), ann, "test__asks"); !strings.Contains(inside(res), `"n":"Ann"`) {
			t.Fatalf("the server heard %+v", res)
		}
	}
	for _, h := range at.gets {
		if h.Get("Authorization") != "Bearer s3cr3t-of-the-far-server" || h.Get("Mcp-Session-Id") != "first" || h.Get("Mcp-Protocol-Version") == "" {
			t.Errorf("a request for the stream has the headers %v", h)
		}
	}
	// Without a call the client does not listen.
	for at.isOpen() {
		<-at.over
	}
}

// TestStreamsThatAreNone: without a usable stream the server cannot ask, but
// calls succeed.
func TestStreamsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		gets int // in three calls
		get  func(w http.ResponseWriter, n int) bool
	}{
		{"not allowed", 1, func(w http.ResponseWriter, _ int) bool { w.WriteHeader(http.StatusMethodNotAllowed); return true }},
		{"not found", 3, func(w http.ResponseWriter, _ int) bool { w.WriteHeader(http.StatusNotFound); return true }},
		{"a page", 3, func(w http.ResponseWriter, _ int) bool { fmt.Fprint(w, "<html>"); return true }},
		{"another place", 3, func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Location", "http://169.254.169.254/latest")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return true
		}},
		{"no events", 3, func(w http.ResponseWriter, _ int) bool {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "no event\n\n")
			return true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript(t, tool("a"))
			s.answer = func(*peer, *question) any { return text("fine") }
			at := newSite(t, s)
			at.onGet = tt.get
			for range 3 {
				if res := at.from(t.Context(), &caller{}, "test__a"); inside(res) != "fine" {
					t.Errorf("the call = %+v", res)
				}
			}
			if n := at.count(); n > tt.gets {
				t.Errorf("it was asked %d times for the stream, want %d", n, tt.gets)
			}
		})
	}
}

// TestAStreamThatIsTaken is requested again, because the stream of the previous
// call may not have ended there yet.
func TestAStreamThatIsTaken(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("asks"))
	at := newSite(t, s)
	at.onGet = func(w http.ResponseWriter, n int) bool {
		if n <= 2 {
			w.WriteHeader(http.StatusConflict)
		}
		return n <= 2
	}
	s.answer = func(*peer, *question) any {
		at.stream <- asking("roots/list", forFolders)
		return text(<-at.answers)
	}
	if res := at.from(t.Context(), &caller{name: "Ann"}, "test__asks"); !strings.Contains(inside(res), "file:///Ann") {
		t.Errorf("the server heard %+v", res)
	}
}

// TestNobodyListens: the client opens no stream for a server that declares no
// input.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	s.answer = func(*peer, *question) any { return text("fine") }
	g := overHTTP(t, s, http.Header{"Mcp-Session-Id": {"first"}}, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			t.Error("a stream is open")
		}
		return false
	})
	if res := g.from(t.Context(), &caller{}, "test__a"); inside(res) != "fine" {
		t.Errorf("the call = %+v", res)
	}
}

// TestARemoteServerThatDoesNotWait: a question ends with its request, whether
// that is answered or broken off, even while the session's stream is open.
func TestARemoteServerThatDoesNotWait(t *testing.T) {
	t.Parallel()
	ann, thinks, gone := thinker()
	for name, after := range map[string]func(q *question) string{
		"it answers":        func(q *question) string { return answerEvent(q.ID, "done") },
		"it breaks off":     func(*question) string { return "" },
		"it talks nonsense": func(*question) string { return "data: no JSON\n\n" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, tool("asks"), tool("echo"))
			at := newSite(t, s)
			s.answer = func(p *peer, q *question) any {
				if q.Params.Name == "echo" {
					return text("fine")
				}
				askThen(t, p, "elicitation/create", forPerson, func() string {
					<-thinks
					return after(q)
				})
				return nil
			}
			if res := at.from(t.Context(), ann, "test__asks"); res.OK != (name == "it answers") {
				t.Errorf("the call = %+v", res)
			}
			<-gone
			if res := at.call("test__echo", nil); inside(res) != "fine" {
				t.Errorf("the next call = %+v", res)
			}
		})
	}
}

// TestALostSession with an open stream ends both: nothing waits for the timeout
// of the call.
func TestALostSession(t *testing.T) {
	t.Parallel()
	s := newScript(t, tool("a"))
	at := newSite(t, s)
	s.answer = func(p *peer, _ *question) any {
		p.write([]byte("no JSON"))
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if res := at.from(ctx, &caller{}, "test__a"); res.Code != sallyport.CodeExecutionFailed || !strings.Contains(res.Error, "ended while it worked") {
		t.Errorf("the call = %+v", res)
	}
}
