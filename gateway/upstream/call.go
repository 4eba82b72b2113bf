package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport"
)

// call has the server work.
func (s *server) call(ctx context.Context, c *sallyport.Call, tool string) (sallyport.Result, error) {
	l, err := s.link(ctx, c)
	if err != nil {
		return sallyport.Result{}, err
	}
	if err := l.enter(ctx); err != nil {
		return sallyport.Result{}, err
	}
	defer l.leave()
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(c.Args)}
	params.SetProgressToken(c.ID)
	l.listen(c)
	defer l.unlisten(c)
	res, err := l.session.CallTool(withCall(ctx, c), params)
	if err != nil {
		return sallyport.Result{}, s.lost(ctx, l, err)
	}
	return result(res), nil
}

// lost says why a call has no answer. What the server itself answered is the
// tool's failure; a connection that broke ends the process, and the next call
// starts another.
func (s *server) lost(ctx context.Context, l *link, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if _, answered := errors.AsType[*jsonrpc.Error](err); answered {
		return failed("tools/call", err)
	}
	s.drop(l)
	if e, refused := errors.AsType[*sallyport.Error](err); refused {
		return e
	}
	s.m.o.Logger.Warn("MCP server lost", "server", s.Name, "error", err)
	return sallyport.Err("the MCP server "+s.Name+" ended while it worked", "").Err()
}

// failed is an answer that is an error of the protocol.
func failed(method string, err error) error {
	return sallyport.Err(fmt.Sprintf("%s: %v", method, err), "").Err()
}

// result is the gate's form of an answer. What is no text is named, not
// carried.
func result(res *mcp.CallToolResult) sallyport.Result {
	var text strings.Builder
	for i, part := range res.Content {
		if i > 0 {
			text.WriteByte('\n')
		}
		text.WriteString(textOf(part))
	}
	if res.IsError {
		return sallyport.Err(text.String(), sallyport.CodeExecutionFailed)
	}
	out := sallyport.OK(text.String())
	out.Structured, _ = res.StructuredContent.(map[string]any)
	return out
}

func textOf(part mcp.Content) string {
	switch p := part.(type) {
	case *mcp.TextContent:
		return p.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes]", p.MIMEType, len(p.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes]", p.MIMEType, len(p.Data))
	case *mcp.ResourceLink:
		return fmt.Sprintf("[resource %s, %s]", p.URI, p.MIMEType)
	case *mcp.EmbeddedResource:
		if p.Resource == nil {
			return "[resource]"
		}
		if p.Resource.Text != "" {
			return p.Resource.Text
		}
		return fmt.Sprintf("[resource %s, %s, %d bytes]", p.Resource.URI, p.Resource.MIMEType, len(p.Resource.Blob))
	default:
		return "[content of an unknown kind]"
	}
}
