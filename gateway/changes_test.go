package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/gateway"
)

// hearing returns the options of a client that reports the changes of which it
// is notified.
func hearing(heard chan<- string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		ToolListChangedHandler:     func(context.Context, *mcp.ToolListChangedRequest) { heard <- "tools" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { heard <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { heard <- "resources" },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			heard <- r.Params.URI
		},
	}
}

// TestChangesAreTold: clients of every generation are notified of changed lists
// and of a resource that they follow, and their later calls still work.
func TestChangesAreTold(t *testing.T) {
	eachForm(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		heard := make(chan string, 100)
		s := connect(hearing(heard))
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://text"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			all := map[string]bool{}
			for len(all) < 4 {
				// A client's stream may open after the change; then the client
				// is notified of the next one.
				k.ListChanged()
				all[<-heard] = true
				res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{}})
				text(t, res, err)
			}
			for _, want := range []string{"tools", "prompts", "resources", "test://text"} {
				if !all[want] {
					t.Errorf("heard of %v, want %s among it", all, want)
				}
			}
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 9 {
			t.Errorf("ListTools() after a change = %d tools, %v, want 9 and nothing that stands for them", len(list.Tools), err)
		}
	})
}

func TestOnlyWhatIsSeenCanBeFollowed(t *testing.T) {
	k := newKit(t, forms()...)
	s, _ := k.stdio(t)
	c := open(t, "2025-11-25", nil, &mcp.IOTransport{Reader: s.out, Writer: s.in})
	for uri, code := range map[string]int64{"test://other": -32002, "test://item/" + strings.Repeat("x", 2100): -32602} {
		if e := refusal(t, c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri})); e.Code != code {
			t.Errorf("Subscribe(%.30s) = %d %s, want %d", uri, e.Code, e.Message, code)
		}
	}
	for i := range 501 {
		err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: fmt.Sprintf("test://item/%d", i)})
		if i < 500 && err != nil {
			t.Fatalf("Subscribe() = %v after %d", err, i)
		}
		if i == 500 && !strings.Contains(refusal(t, err).Message, "too many") {
			t.Errorf("Subscribe() = %v after 500, want too many", err)
		}
	}
	if err := c.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "test://item/1"}); err != nil {
		t.Errorf("Unsubscribe() = %v", err)
	}
}

// TestChangesInQuickSuccessionAreOne counts the notifications on a stream.
func TestChangesInQuickSuccessionAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := gateway.New(&views{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		k := &kit{Server: server}
		s, stop := k.stdio(t)
		lines := make(chan string, 100)
		go func() {
			for r := bufio.NewScanner(s.out); r.Scan(); {
				lines <- r.Text()
			}
			close(lines)
		}()
		send(t, s.in, hello)
		<-lines
		for range 50 {
			server.ListChanged()
		}
		synctest.Wait()
		// Time advances while all goroutines wait for the end of the stream.
		told := map[string]int{}
		for range 3 {
			told[<-lines]++
		}
		stop()
		for line := range lines {
			told[line]++
		}
		<-s.done
		if len(told) != 3 {
			t.Errorf("told %v, want one notification of each kind", told)
		}
	})
}

// TestListenersDoNotHoldTheEnd: a stream of changes has no answer, so neither
// the end of the input nor that of the server waits for one.
func TestListenersDoNotHoldTheEnd(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + stateless + `}}`
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server, err := gateway.New(&views{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			k := &kit{Server: server}
			s, _ := k.stdio(t)
			r := bufio.NewReader(s.out)
			for id := range 17 {
				send(t, s.in, fmt.Sprintf(listen, id)+"\n")
				line, err := r.ReadString('\n')
				want := "notifications/subscriptions/acknowledged"
				if id == 16 {
					want = "too many requests wait for changes"
				}
				if err != nil || !strings.Contains(line, want) {
					t.Fatalf("listening for the time %d = %s, %v, want %s", id+1, line, err, want)
				}
			}
			go func() {
				for {
					if _, err := r.ReadString('\n'); err != nil {
						return
					}
				}
			}()
			begun := time.Now()
			s.in.Close()
			if err := <-s.done; err != nil || time.Since(begun) != 0 {
				t.Errorf("Stdio() = %v after %s, want nil at once", err, time.Since(begun))
			}
		})
	})
	t.Run("http", func(t *testing.T) {
		k := newKit(t)
		site := k.site(t)
		h := client(t, "alice")
		var streams []*http.Response
		for id := range 101 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL+"/mcp", strings.NewReader(fmt.Sprintf(listen, id)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", "subscriptions/listen")
			res, err := h.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if want := map[bool]int{true: http.StatusOK, false: http.StatusServiceUnavailable}[id < 100]; res.StatusCode != want {
				t.Fatalf("stream %d: status %d, want %d", id+1, res.StatusCode, want)
			}
			streams = append(streams, res)
		}
		if err := k.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown() = %v, want nil", err)
		}
		for _, res := range streams[:100] {
			r := bufio.NewReader(res.Body)
			for {
				if _, err := r.ReadString('\n'); err != nil {
					break
				}
			}
		}
	})
}
