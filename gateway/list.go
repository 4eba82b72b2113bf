package gateway

import (
	"encoding/base64"
	"sort"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/registry"
)

const (
	// pageSize is the number of tools in one answer. It is so large that a
	// client that does not ask for a second page misses nothing in practice.
	pageSize = 1000
	// listTTL is how long a client may keep a list, in milliseconds. A tool
	// that is gone by then is refused by its call.
	listTTL = 60_000
	// listScope keeps a list with the client of the principal that asked:
	// others see other tools.
	listScope = "private"
)

// page answers a listing with the tools behind a cursor. Tools come sorted by
// name, and the cursor is the last name of the page before, so that it stays
// good when tools come and go.
func page(defs []registry.Definition, cursor string) (*mcp.ListToolsResult, error) {
	last, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the cursor is not one of this server's"}
	}
	from := sort.Search(len(defs), func(i int) bool { return cursor == "" || defs[i].Name > string(last) })
	rest := defs[from:]
	out := &mcp.ListToolsResult{Cacheable: mcp.Cacheable{TTLMs: listTTL, CacheScope: listScope}}
	if len(rest) > pageSize {
		rest = rest[:pageSize]
		out.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(rest[pageSize-1].Name))
	}
	out.Tools = listed(rest)
	return out, nil
}

// listed turns definitions into the protocol's form.
func listed(defs []registry.Definition) []*mcp.Tool {
	out := make([]*mcp.Tool, len(defs))
	for i := range defs {
		d := &defs[i]
		out[i] = &mcp.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description, InputSchema: d.Schema,
			Annotations: &mcp.ToolAnnotations{
				Title: d.Title, ReadOnlyHint: d.ReadOnly, IdempotentHint: d.Idempotent,
				DestructiveHint: &d.Destructive, OpenWorldHint: &d.OpenWorld,
			},
		}
		if d.Returns != nil {
			out[i].OutputSchema = d.Returns
		}
	}
	return out
}
