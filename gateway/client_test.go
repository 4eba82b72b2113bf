package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// versions are the protocol versions with which every test runs.
var versions = []string{"2026-07-28", "2025-11-25", "2025-06-18"}

// each runs a test with the official client, for each surface and version.
func each(t *testing.T, test func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession)) {
	eachOf(t, func(t *testing.T) *kit { return newKit(t) }, test)
}

// eachOf is each with another kit.
func eachOf(t *testing.T, newKit func(*testing.T) *kit, test func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession)) {
	for _, version := range versions {
		t.Run("http/"+version, func(t *testing.T) {
			k := newKit(t)
			site := k.site(t)
			test(t, k, func(o *mcp.ClientOptions) *mcp.ClientSession {
				return open(t, version, o, &mcp.StreamableClientTransport{Endpoint: site.URL + "/mcp", HTTPClient: client(t, "alice")})
			})
		})
		t.Run("stdio/"+version, func(t *testing.T) {
			k := newKit(t)
			test(t, k, func(o *mcp.ClientOptions) *mcp.ClientSession {
				s, _ := k.stdio(t)
				return open(t, version, o, &mcp.IOTransport{Reader: s.out, Writer: s.in})
			})
		})
	}
}

// open connects the official client at one version of the protocol.
func open(t *testing.T, version string, o *mcp.ClientOptions, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	session, err := c.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Closing fails if the server is gone, and some tests end it.
		_ = session.Close()
	})
	if got := session.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("negotiated version = %s, want %s", got, version)
	}
	return session
}

// text returns the text of a result.
func text(t *testing.T, r *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Content) != 1 {
		t.Fatalf("result has %d parts, want 1", len(r.Content))
	}
	return r.Content[0].(*mcp.TextContent).Text
}

func TestClientListsAndCalls(t *testing.T) {
	each(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		list, err := s.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if diff := cmp.Diff([]string{"echo", "hold", "outside", "session", "stages", "sum"}, names); diff != "" {
			t.Errorf("ListTools() (-want +got):\n%s", diff)
		}
		if list.CacheScope != "private" {
			t.Errorf("CacheScope = %q, want private: the list is the caller's", list.CacheScope)
		}
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "sum", Arguments: map[string]any{"a": 1, "b": 2}})
		if got := text(t, res, err); got != "added" || res.IsError {
			t.Errorf("sum = %q, error %v, want added", got, res.IsError)
		}
		if diff := cmp.Diff(map[string]any{"sum": 3.0}, res.StructuredContent); diff != "" {
			t.Errorf("StructuredContent (-want +got):\n%s", diff)
		}
		outcomes := k.record.outcomes("sum")
		if len(outcomes) != 1 || outcomes[0].CallID != res.Meta["sallyport/call"] {
			t.Errorf("outcomes = %v, want one with id %v", outcomes, res.Meta["sallyport/call"])
		}
	})
}

func TestUnknownToolIsAResultAndRecorded(t *testing.T) {
	each(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		const unknown = "nobody"
		res, err := connect(nil).CallTool(t.Context(), &mcp.CallToolParams{Name: unknown, Arguments: map[string]any{}})
		want := fmt.Sprintf("not_available: Unknown tool: %s\nCall ID: %v", unknown, res.Meta["sallyport/call"])
		if got := text(t, res, err); got != want || !res.IsError {
			t.Errorf("result = %q, error %v, want %q", got, res.IsError, want)
		}
		outcomes := k.record.outcomes(unknown)
		if len(outcomes) != 1 || outcomes[0].Code != sallyport.CodeNotAvailable || outcomes[0].Stage != sallyport.StepFind {
			t.Errorf("outcomes = %+v, want one denial at find", outcomes)
		}
	})
}

func TestProgressGrowsAndIsTheUsers(t *testing.T) {
	each(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		events := make(chan *mcp.ProgressNotificationParams, 100)
		s := connect(&mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			events <- r.Params
		}})
		// The first call asks for no progress: if it sent any, that would come
		// before the events of the second.
		p := &mcp.CallToolParams{Name: "stages", Arguments: map[string]any{}}
		res, err := s.CallTool(t.Context(), p)
		text(t, res, err)
		p.SetProgressToken("token")
		res, err = s.CallTool(t.Context(), p)
		text(t, res, err)
		last := 0.0
		for _, want := range []string{"begun", "ten", "ten again", "back to five", "no number", "done"} {
			e := <-events
			if e.Message != want || e.ProgressToken != "token" || e.Progress <= last {
				t.Errorf("event = %+v after progress %v, want %q and more of it", e, last, want)
			}
			last = e.Progress
		}
	})
}

func TestCancellationReachesTheTool(t *testing.T) {
	each(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		s := connect(nil)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "hold", Arguments: map[string]any{}})
			failed <- err
		}()
		<-k.started
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("CallTool() = %v, want context.Canceled", err)
		}
		if err := <-k.ended; err == nil {
			t.Error("the tool ended without a reason, want its context's")
		}
	})
}

func TestSessionOfACaller(t *testing.T) {
	each(t, func(t *testing.T, k *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		whose := func(s *mcp.ClientSession) string {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "session", Arguments: map[string]any{}})
			return text(t, res, err)
		}
		one, two := connect(nil), connect(nil)
		first := whose(one)
		if again := whose(one); again != first {
			t.Errorf("session changed from %q to %q within a connection", first, again)
		}
		// Without sessions two connections of one principal are one
		// conversation, until it is idle for too long.
		http2026 := strings.HasSuffix(t.Name(), "2026-07-28")
		if other := whose(two); (other == first) != http2026 {
			t.Errorf("two connections have sessions %q and %q", first, other)
		}
	})
}

// TestClientsNeverSeeEachOther lets many clients with equal request ids call at
// once: each must get its own nonce back.
func TestClientsNeverSeeEachOther(t *testing.T) {
	const clients, calls = 200, 3
	for _, version := range versions[:2] {
		t.Run(version, func(t *testing.T) {
			k := newKit(t)
			site := k.site(t)
			h := client(t, "alice")
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
					s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
						Endpoint: site.URL + "/mcp", HTTPClient: h, DisableStandaloneSSE: true,
					}, &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					for j := range calls {
						nonce := fmt.Sprintf("%d-%d", i, j)
						res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"nonce": nonce}})
						if err != nil {
							t.Error(err)
							return
						}
						if got, want := res.Content[0].(*mcp.TextContent).Text, `{"nonce":"`+nonce+`"}`; got != want {
							t.Errorf("client %d got %s, want %s", i, got, want)
						}
					}
				})
			}
			wg.Wait()
			if got := len(k.record.outcomes("echo")); got != clients*calls {
				t.Errorf("recorded %d calls, want %d", got, clients*calls)
			}
		})
	}
}

func TestListIsPaged(t *testing.T) {
	k := newKit(t)
	var more []sallyport.Tool
	for i := range 2100 {
		more = append(more, sallyport.Tool{
			Name: fmt.Sprintf("many-%04d", i), Description: "One of many.",
			Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK(""), nil },
		})
	}
	if err := k.registry.Register(more...); err != nil {
		t.Fatal(err)
	}
	s, _ := k.stdio(t)
	c := open(t, "2025-11-25", nil, &mcp.IOTransport{Reader: s.out, Writer: s.in})
	var names []string
	pages := 0
	for p := (&mcp.ListToolsParams{}); ; pages++ {
		res, err := c.ListTools(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
		}
		if p.Cursor = res.NextCursor; p.Cursor == "" {
			break
		}
	}
	if len(names) != 2106 || pages != 2 || !slices.IsSorted(names) || len(slices.Compact(names)) != 2106 {
		t.Errorf("%d names over %d further pages, sorted %v, want 2106 different ones over 2", len(names), pages, slices.IsSorted(names))
	}
}

func TestShutdownFinishesThenCancels(t *testing.T) {
	k := newKit(t)
	site := k.site(t)
	s := open(t, "2025-11-25", nil, &mcp.StreamableClientTransport{Endpoint: site.URL + "/mcp", HTTPClient: client(t, "alice")})
	result := make(chan *mcp.CallToolResult, 1)
	go func() {
		res, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "hold", Arguments: map[string]any{}})
		if err != nil {
			t.Error(err)
		}
		result <- res
	}()
	<-k.started
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := k.Shutdown(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown() = %v, want context.Canceled: a call had to be cancelled", err)
	}
	if got := text(t, <-result, nil); !strings.Contains(got, "cancelled") {
		t.Errorf("result = %q, want that it was cancelled", got)
	}
	if got := k.record.outcomes("hold"); len(got) != 1 {
		t.Errorf("recorded %d outcomes, want 1", len(got))
	}
	// The stream on which the client listened has ended as well: nothing keeps
	// the server open.
	site.Close()
}
