package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/httpapi"
)

// event is one event of a stream; a comment has no kind.
type event struct{ kind, data string }

// next reads an event.
func next(r *bufio.Reader) (e event, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return e, err
		}
		switch line = strings.TrimSuffix(line, "\n"); {
		case line == "":
			return e, nil
		case strings.HasPrefix(line, "event: "):
			e.kind = line[len("event: "):]
		case strings.HasPrefix(line, "data: "):
			e.data = line[len("data: "):]
		case line != ":":
			return e, fmt.Errorf("unexpected line %q", line)
		}
	}
}

// all reads a stream to its end, without comments.
func all(t *testing.T, body io.Reader) (out []event) {
	t.Helper()
	r := bufio.NewReader(body)
	for {
		e, err := next(r)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.kind != "" {
			out = append(out, e)
		}
	}
}

var asStream = []string{"Accept", "text/event-stream"}

func TestAStreamTellsProgressForTheUserAndThenTheResult(t *testing.T) {
	k := newKit(t, nil)
	res := k.open("POST", "/v1/actions/stages/execute", strings.NewReader(`{}`), "Accept", "application/json;q=0.5, Text/Event-Stream")
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("the stream began with %d %s", res.StatusCode, kind)
	}
	got := all(t, res.Body)
	var last struct {
		Success bool   `json:"success"`
		Data    string `json:"data"`
		CallID  string `json:"call_id"`
		Status  int    `json:"status"`
	}
	if err := json.Unmarshal([]byte(got[len(got)-1].data), &last); err != nil {
		t.Fatal(err)
	}
	if !last.Success || last.Data != "finished" || last.Status != 200 || !k.record.outcome(t, last.CallID).OK {
		t.Errorf("the last event is %v", got[len(got)-1])
	}
	want := []event{
		{"progress", `{"type":"progress","toolName":"stages","message":"begun","audience":"user"}`},
		{"progress", `{"type":"progress","toolName":"stages","message":"line\nbreak \u003cb\u003e","percent":50,"audience":"user"}`},
	}
	if diff := cmp.Diff(want, got[:len(got)-1], cmp.AllowUnexported(event{})); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func TestAStreamTellsARefusalWithItsStatus(t *testing.T) {
	k := newKit(t, nil)
	for tool, status := range map[string]int{"nothing": 404, "send": 403, "busy": 429, "unwired": 503, "broken": 502} {
		got := k.execute(tool, `{}`, asStream...)
		events := all(t, strings.NewReader(got.text))
		if len(events) != 1 || events[0].kind != "result" || !strings.Contains(events[0].data, fmt.Sprintf(`"status":%d`, status)) {
			t.Errorf("the stream of %s is %v, want one result with %d", tool, events, status)
		}
	}
	if got := k.execute("echo", `{"unknown":1}`, asStream...); got.status != 400 || got.body.Code != sallyport.CodeInputInvalid {
		t.Errorf("a broken body = %d %s, want a plain 400", got.status, got.text)
	}
	if got := k.execute("echo", `{}`, "Accept", "text/event-stream;q=0, application/json"); !got.body.Success {
		t.Errorf("a client that does not want a stream got %s", got.text)
	}
}

func TestASilentStreamBeats(t *testing.T) {
	k := newKit(t, &httpapi.Options{Heartbeat: time.Millisecond})
	res := k.open("POST", "/v1/actions/hold/execute", strings.NewReader(`{}`), asStream...)
	<-k.started
	r := bufio.NewReader(res.Body)
	for range 5 {
		if e, err := next(r); err != nil || e.kind != "" {
			t.Fatalf("next() = %v, %v, want a comment", e, err)
		}
	}
	res.Body.Close()
	<-k.ended
}

// stuck is a client's end of a stream that takes nothing until it is let go,
// and then fails or not.
type stuck struct {
	*httptest.ResponseRecorder
	free chan error
	fail error
}

func (s *stuck) Write(p []byte) (int, error) {
	if err, ok := <-s.free; ok {
		s.fail = err
	}
	if s.fail != nil {
		return 0, s.fail
	}
	return s.ResponseRecorder.Write(p)
}

// stick calls an action for a stuck client.
func (k *kit) stick(tool string) (w *stuck, done chan struct{}) {
	w = &stuck{ResponseRecorder: httptest.NewRecorder(), free: make(chan error, 1)}
	r := httptest.NewRequestWithContext(k.t.Context(), "POST", k.site.URL+"/v1/actions/"+tool+"/execute", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer alice")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	done = make(chan struct{})
	go func() {
		defer close(done)
		k.site.Config.Handler.ServeHTTP(w, r)
	}()
	return w, done
}

// TestAClientThatDoesNotReadHoldsNoToolUp lets a tool report far more than is
// kept while the first write to the client has not returned.
func TestAClientThatDoesNotReadHoldsNoToolUp(t *testing.T) {
	k := newKit(t, nil)
	w, done := k.stick("flood")
	w.free <- nil // the comment that begins the stream
	if err := <-k.ended; err != nil {
		t.Errorf("the tool was cancelled: %v", err)
	}
	close(w.free)
	<-done
	got := all(t, w.Body)
	if len(got) > 1001 || got[len(got)-1].kind != "result" || !strings.Contains(got[len(got)-1].data, "flooded") {
		t.Errorf("%d events, the last %v; want at most 1001 and the result", len(got), got[len(got)-1])
	}
}

func TestAWriteThatFailsCancelsTheCall(t *testing.T) {
	k := newKit(t, &httpapi.Options{Heartbeat: time.Millisecond})
	w, done := k.stick("hold")
	w.free <- nil
	<-k.started
	w.free <- errors.New("connection reset")
	if err := <-k.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the tool ended with %v, want its cancellation", err)
	}
	<-done
}

// TestABodyThatDoesNotArriveEndsWithTheServer sends half of a body.
func TestABodyThatDoesNotArriveEndsWithTheServer(t *testing.T) {
	k := newKit(t, nil)
	address := k.site.Listener.Addr().String()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/actions/echo/execute HTTP/1.1\r\nHost: "+address+
		"\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = k.Shutdown(ctx)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("half a body at the end of the server = %d, want 503", res.StatusCode)
	}
}

func TestAClientThatIsGoneCancelsItsCall(t *testing.T) {
	for name, headers := range map[string][]string{"plain": nil, "stream": asStream} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, nil)
			ctx, cancel := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, "POST", k.site.URL+"/v1/actions/hold/execute", strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer alice")
			r.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(headers); i += 2 {
				r.Header.Set(headers[i], headers[i+1])
			}
			done := make(chan error, 1)
			go func() {
				res, err := k.site.Client().Do(r)
				if err == nil {
					_, err = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				done <- err
			}()
			<-k.started
			cancel()
			if err := <-k.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the tool ended with %v, want its cancellation", err)
			}
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			if err := k.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			k.record.mu.Lock()
			defer k.record.mu.Unlock()
			last := k.record.events[len(k.record.events)-1]
			if last.Code != sallyport.CodeExecutionFailed || !strings.Contains(string(last.Error), "cancelled by the caller") {
				t.Errorf("recorded %s %q, want a cancellation", last.Code, last.Error)
			}
		})
	}
}

func TestShutdownFinishesOrCancelsWhatRuns(t *testing.T) {
	k := newKit(t, nil)
	plain, streamed := make(chan reply, 1), make(chan reply, 1)
	go func() { plain <- k.execute("hold", `{}`) }()
	go func() { streamed <- k.execute("hold", `{}`, asStream...) }()
	<-k.started
	<-k.started
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown() = %v, want the context's error", err)
	}
	if got := <-plain; got.status != 502 || !strings.Contains(got.body.Error, "cancelled") {
		t.Errorf("the call that ran was answered %d %s", got.status, got.text)
	} else {
		k.record.outcome(t, got.body.CallID)
	}
	if got := <-streamed; !strings.Contains(got.text, `"status":502`) {
		t.Errorf("the stream that ran ended with %s", got.text)
	}
	late := k.execute("hold", `{}`)
	if late.body.Success || len(k.started) != 0 {
		t.Errorf("a call after the end was answered %d %s", late.status, late.text)
	}
	k.record.outcome(t, late.body.CallID)
	if got := k.do("GET", "/readyz", ""); got.status != 503 {
		t.Errorf("/readyz after the end = %d, want 503", got.status)
	}
	idle := newKit(t, nil)
	idle.execute("echo", `{}`)
	if err := idle.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown() of an idle server = %v", err)
	}
}
