package main

import (
	"context"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newMCPGo returns the server of mcp-go, as its documentation writes one.
func newMCPGo() *server.MCPServer {
	s := server.NewMCPServer("mcp-go", "1")
	s.AddTool(mcpgo.NewTool("read_file", mcpgo.WithString("path", mcpgo.Required())),
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			path, err := r.RequireString("path")
			if err != nil {
				return nil, err
			}
			said, err := readFile(path)
			return mcpgo.NewToolResultText(said), err
		})
	s.AddTool(mcpgo.NewTool("echo", mcpgo.WithString("text", mcpgo.Required())),
		func(_ context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
			said, err := r.RequireString("text")
			return mcpgo.NewToolResultText(said), err
		})
	return s
}

// newGoSDK returns the server of the official library.
func newGoSDK() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "go-sdk", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "read_file"}, func(_ context.Context, _ *mcp.CallToolRequest, in pathInput) (*mcp.CallToolResult, any, error) {
		said, err := readFile(in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: said}}}, nil, err
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	return s
}
