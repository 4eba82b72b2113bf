package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestClientsOfEveryVersion lets the official client list and call the tools of
// a mounted server, receive its progress and cancel a call, with each version
// of the protocol and on each transport.
func TestClientsOfEveryVersion(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	script, err := os.ReadFile("testdata/patient.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := configured(t, "version: 1\nmcp_servers: {far: {command: [python3, ./patient.py]}}\npersonalities: {ops: {toolset: [], mcp_servers: [far]}}\n")
	place(t, dir, "patient.py", string(script))
	s := serveHTTP(t, dir)
	for i, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, kind := range []string{"stdio", "http"} {
			t.Run(kind+"/"+version, func(t *testing.T) {
				given := 1 // calls of this process of the server
				var transport mcp.Transport
				if kind == "stdio" {
					transport = &mcp.CommandTransport{Command: sallyportCommand(dir, "serve", "--stdio")}
				} else {
					given = i + 1
				}
				c := connects(t, s, version, transport)
				c.lists(t, "mcp__far__echo")
				c.calls(t, npmCall{"mcp__far__echo", fields{"text": "hello"}, "hello", true})
				c.hears(t)
				c.givesUp(t)
				c.calls(t, npmCall{"mcp__far__seen", fields{"n": given}, fmt.Sprintf("%d given up", given), true})
			})
		}
	}
	s.stop(t)
}

// hears requires a progress event for every step of a call.
func (c *sdkClient) hears(t *testing.T) {
	t.Helper()
	params := &mcp.CallToolParams{Name: "mcp__far__steps", Arguments: fields{}}
	params.SetProgressToken("steps")
	if res, err := c.CallTool(t.Context(), params); err != nil || res.IsError {
		t.Fatalf("the call with progress = %v, %v", res, err)
	}
	for _, want := range []string{"step 1", "step 2", "step 3"} {
		if p := <-c.progress; p.ProgressToken != "steps" || p.Message != want {
			t.Errorf("progress = %+v, want %s", p, want)
		}
	}
}

// givesUp cancels a call once it runs.
func (c *sdkClient) givesUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		params := &mcp.CallToolParams{Name: "mcp__far__wait", Arguments: fields{}}
		params.SetProgressToken("wait")
		_, err := c.CallTool(ctx, params)
		ended <- err
	}()
	<-c.progress
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was given up = %v, want it cancelled", err)
	}
}
