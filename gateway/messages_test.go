package gateway_test

//lint:file-ignore SA1019 protocols with sessions have levels for messages

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMessagesFollowALevel: what a tool tells the user is a log message for a
// client that set a level, in protocols that have levels.
func TestMessagesFollowALevel(t *testing.T) {
	eachForm(t, func(t *testing.T, _ *kit, connect func(*mcp.ClientOptions) *mcp.ClientSession) {
		if strings.HasSuffix(t.Name(), "2026-07-28") {
			return
		}
		told := make(chan string, 100)
		s := connect(&mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			told <- fmt.Sprintf("%s %s: %s", r.Params.Level, r.Params.Logger, r.Params.Data)
		}})
		call := func() {
			res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "stages", Arguments: map[string]any{}})
			text(t, res, err)
		}
		call() // no messages before a level is set
		if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "loud"}); refusal(t, err).Code != jsonrpc.CodeInvalidParams {
			t.Errorf("SetLoggingLevel(loud) = %v, want that there is no such level", err)
		}
		for _, level := range []mcp.LoggingLevel{"info", "warning"} {
			if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: level}); err != nil {
				t.Fatal(err)
			}
			call()
		}
		for _, want := range []string{"begun", "ten", "ten again", "back to five", "no number", "done"} {
			if got := <-told; got != "info stages: "+want {
				t.Errorf("message = %q, want that of %q", got, want)
			}
		}
		if len(told) > 0 {
			t.Errorf("a further message: %q", <-told)
		}
	})
}
