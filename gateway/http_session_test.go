package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/auth"
)

// house is the server behind the guard, without a network.
type house struct {
	handler http.Handler
	version string
	session string
}

func newHouse(t testing.TB, k *kit) *house {
	g, err := auth.NewGuard("127.0.0.1:80", tokens{"alice": {Name: "alice"}, "bob": {Name: "bob"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &house{handler: g.Protect(k.Handler()), version: "2025-11-25"}
}

// do sends a message as alice and returns status and body.
func (h *house) do(ctx context.Context, method, body string, header ...string) (int, string) {
	r := httptest.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", h.version)
	if h.session != "" {
		r.Header.Set("Mcp-Session-Id", h.session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	return w.Code, w.Body.String()
}

// shut ends the sessions that a test opened.
func shut(t *testing.T, k *kit) {
	if err := k.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// Calls and listings keep a session alive, and an unused
// session ends.
func TestRequestsKeepTheirSessionAlive(t *testing.T) {
	for _, body := range []string{callLine(1, "echo", `{}`), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(t)
			defer shut(t, k)
			h := newHouse(t, k)
			h.do(t.Context(), http.MethodPost, hello)
			for range 5 {
				time.Sleep(20 * time.Minute)
				if status, text := h.do(t.Context(), http.MethodPost, body); status != http.StatusOK {
					t.Fatalf("a request 20 minutes after another: status %d %s, want 200", status, text)
				}
			}
			time.Sleep(30*time.Minute + time.Second)
			synctest.Wait()
			for _, m := range []string{body, `{"jsonrpc":"2.0","id":1,"method":"ping"}`} {
				if status, text := h.do(t.Context(), http.MethodPost, m); status != http.StatusNotFound {
					t.Errorf("%s in a session that was idle for 30 minutes: status %d %s, want 404", m, status, text)
				}
			}
		})
	}
}

// A session is not idle while a call runs, however long that takes, and another
// principal's request does not count as use of it.
func TestSessionIsInUseWhileACallRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		defer shut(t, k)
		h := newHouse(t, k)
		h.do(t.Context(), http.MethodPost, hello)
		done := make(chan struct{})
		go func() {
			defer close(done)
			h.do(context.Background(), http.MethodPost, callLine(5, "hold", `{}`))
		}()
		<-k.started
		time.Sleep(29 * time.Second) // less than the gate's own bound
		if status, _ := h.do(t.Context(), http.MethodPost, callLine(6, "echo", `{}`)); status != http.StatusOK {
			t.Errorf("a call beside one that runs: status %d, want 200", status)
		}
		h.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`)
		<-done
		time.Sleep(20 * time.Minute)
		if status, _ := h.do(t.Context(), http.MethodPost, callLine(7, "echo", `{}`), "Authorization", "Bearer bob"); status != http.StatusForbidden {
			t.Errorf("another principal's call: status %d, want 403", status)
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if status, _ := h.do(t.Context(), http.MethodPost, callLine(8, "echo", `{}`)); status != http.StatusNotFound {
			t.Errorf("a call after 31 idle minutes: status %d, want 404", status)
		}
	})
}

func TestClosedSessionTakesNoCall(t *testing.T) {
	k := newKit(t)
	defer shut(t, k)
	h := newHouse(t, k)
	h.do(t.Context(), http.MethodPost, hello)
	if status, text := h.do(t.Context(), http.MethodDelete, "", "Authorization", "Bearer bob"); status != http.StatusForbidden {
		t.Errorf("DELETE by another principal: status %d %s, want 403", status, text)
	}
	if status, text := h.do(t.Context(), http.MethodPost, callLine(1, "echo", `{}`)); status != http.StatusOK {
		t.Errorf("a call before the end: status %d %s, want 200", status, text)
	}
	if status, text := h.do(t.Context(), http.MethodDelete, ""); status != http.StatusNoContent {
		t.Errorf("DELETE: status %d %s, want 204", status, text)
	}
	if status, text := h.do(t.Context(), http.MethodPost, callLine(2, "echo", `{}`)); status != http.StatusNotFound {
		t.Errorf("a call after the end: status %d %s, want 404", status, text)
	}
}

// Without sessions a call ends with its request. With sessions it goes on, and
// the client cancels it by a message.
func TestWhatCancelsACall(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			k := newKit(t)
			defer shut(t, k)
			h := newHouse(t, k)
			h.version = version
			body, header := callLine(3, "hold", `{}`), []string(nil)
			cancelled := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`
			if version == "2026-07-28" {
				body = strings.Replace(body, `"arguments":{}`, stateless, 1)
				header = []string{"Mcp-Method", "tools/call", "Mcp-Name", "hold"}
			} else {
				h.do(t.Context(), http.MethodPost, hello)
			}
			ctx, gone := context.WithCancel(t.Context())
			defer gone()
			answer := make(chan string, 1)
			go func() {
				_, text := h.do(ctx, http.MethodPost, body, header...)
				answer <- text
			}()
			<-k.started
			if version != "2026-07-28" {
				if status, text := h.do(t.Context(), http.MethodPost, callLine(3, "echo", `{}`)); status != http.StatusBadRequest || !strings.Contains(text, "duplicate in-flight request ID 3") {
					t.Errorf("a second request of the id: status %d %s, want 400", status, text)
				}
				progress := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"stages","_meta":{"progressToken":1}}}`
				if status, text := h.do(t.Context(), http.MethodPost, progress); status != http.StatusBadRequest {
					t.Errorf("one with progress: status %d %s, want 400", status, text)
				}
				h.do(t.Context(), http.MethodPost, strings.Replace(cancelled, "3", `"3"`, 1)) // another id
				h.do(t.Context(), http.MethodPost, cancelled, "Accept", "text/html")          // refused
				h.do(t.Context(), http.MethodPost, cancelled, "Authorization", "Bearer bob")  // refused
			}
			gone()
			if version != "2026-07-28" {
				select {
				case err := <-k.ended:
					t.Fatalf("the call ended with %v, want it to go on", err)
				case <-time.After(20 * time.Millisecond):
				}
				if status, _ := h.do(t.Context(), http.MethodPost, cancelled); status != http.StatusAccepted {
					t.Errorf("cancelled: status %d, want 202", status)
				}
			}
			<-k.ended
			if text := <-answer; !strings.Contains(text, `"isError":true`) {
				t.Errorf("answer = %s, want an error", text)
			}
		})
	}
}

// Answers of every length arrive whole and at the right client, although their
// buffers are reused.
func TestAnswersAreNotMixed(t *testing.T) {
	k := newKit(t)
	h := newHouse(t, k)
	h.version = "2026-07-28"
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			nonce := fmt.Sprint(i, " ", strings.Repeat("x", i*i*3/4))
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"nonce":%q},%s}}`, nonce, stateless)
			_, text := h.do(t.Context(), http.MethodPost, body, "Mcp-Method", "tools/call", "Mcp-Name", "echo")
			if want := `"text":"{\"nonce\":\"` + nonce + `\"}"`; !json.Valid([]byte(text)) || !strings.Contains(text, want) {
				t.Errorf("call %d got %.100s, want %.50s", i, text, want)
			}
		})
	}
	all.Wait()
}
