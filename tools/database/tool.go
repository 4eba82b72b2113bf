package database

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/heartbeat"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/database/internal/engine"
)

const (
	toolset = "database"
	// resultBytes bounds the rows of a result, so that the structured part
	// stays within the gate's limit (256 KiB) and says the same as the text.
	resultBytes = 200 << 10
	// toolTime bounds a call; the backend's own limit is shorter.
	toolTime = time.Minute
)

type queryInput struct {
	Query      string            `json:"query"`
	Params     []json.RawMessage `json:"params,omitempty"`
	Connection string            `json:"connection,omitempty"`
}

// Tool returns db-query, or with the mode write db-write, for the named
// connections; the empty mode means read. With several connections the call
// must say which one; the only one need not be named. A tool that writes asks
// for the permission database:write, one that reads for database:read. The
// slice is copied.
func Tool(connections []string, mode sallyport.AccessMode) sallyport.Tool {
	connections = slices.Clone(connections)
	t := sallyport.Tool{
		Name: "db-query", Title: "Database Query", Toolset: toolset,
		Schema: inputSchema(connections), Returns: json.RawMessage(outputSchema),
		Capabilities: sallyport.Capabilities{Database: &sallyport.DatabaseCapability{Connections: connections, Mode: mode}},
		Touches:      []sallyport.Touch{{Capability: "database", Argument: "connection"}},
		Timeout:      toolTime, OutputIsUntrusted: true,
		IsAvailable: func() bool { return len(connections) > 0 },
	}
	const tail = " Bind values with params, in the placeholder form of the database ($1 for PostgreSQL, ? otherwise). " +
		"Rows are limited: filter, aggregate and LIMIT in the query."
	if mode == sallyport.ModeWrite {
		t.Name, t.Title = "db-write", "Database Write"
		t.Permissions = []string{"database:write"}
		t.Description = "Run one SQL statement, which may change data, in a transaction of its own." + tail
	} else {
		t.Permissions = []string{"database:read"}
		t.ReadOnly, t.Idempotent = true, true
		t.Description = "Run one SQL query (SELECT). The connection only reads." + tail
	}
	return schema.MustTool(t, func(ctx context.Context, c *sallyport.Call, in queryInput) (sallyport.Result, error) {
		return runTool(ctx, c, in, connections)
	})
}

const outputSchema = `{"type":"object","properties":{
"columns":{"type":"array","items":{"type":"string"}},
"rows":{"type":"array","items":{"type":"array"}},
"truncated":{"type":"boolean"},
"affected":{"type":"integer"}},
"required":["columns","rows","truncated","affected"]}`

// inputSchema is the schema of the arguments. It has the argument connection
// only when there is a choice, and then asks for it: a statement must not run
// on a database that nothing named.
func inputSchema(connections []string) json.RawMessage {
	properties := map[string]any{
		"query": map[string]any{"type": "string", "minLength": 1, "maxLength": 100_000, "description": "One SQL statement."},
		"params": map[string]any{
			"type": "array", "maxItems": engine.MaxArgs, "description": "Values for the placeholders, in order.",
			"items": map[string]any{"type": []string{"string", "number", "boolean", "null"}},
		},
	}
	required := []string{"query"}
	if len(connections) > 1 {
		properties["connection"] = map[string]any{
			"type": "string", "enum": connections, "description": "The database.",
		}
		required = append(required, "connection")
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil {
		panic(err) // Strings and numbers only.
	}
	return raw
}

func runTool(ctx context.Context, c *sallyport.Call, in queryInput, connections []string) (sallyport.Result, error) {
	if len(connections) == 1 {
		in.Connection = connections[0]
	}
	args, err := decodeParams(in.Params)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer heartbeat.Start(c, "querying "+in.Connection, nil)()
	table, err := c.Databases.Query(ctx, in.Connection, in.Query, args)
	if err != nil {
		return sallyport.Result{}, err
	}
	return newTableResult(table)
}

// decodeParams decodes arguments without turning numbers into floats.
func decodeParams(params []json.RawMessage) ([]any, error) {
	args := make([]any, len(params))
	for i, raw := range params {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&args[i]); err != nil {
			return nil, sallyport.InputInvalid(fmt.Sprintf("params[%d]: not JSON", i))
		}
	}
	return args, nil
}

// newTableResult writes a table as text, one JSON array per line, so that no value is
// taken for another, and as structured data.
func newTableResult(t sallyport.Table) (sallyport.Result, error) {
	var out strings.Builder
	columns := t.Columns
	if columns == nil {
		columns = []string{}
	}
	if len(columns) > 0 {
		line, err := compactJSON(columns)
		if err != nil {
			return sallyport.Result{}, err
		}
		out.WriteString(line)
	}
	rows := make([]any, 0, len(t.Rows))
	more := t.More
	for _, row := range t.Rows {
		line, err := compactJSON(row)
		if err != nil {
			return sallyport.Result{}, err
		}
		if out.Len()+len(line) > resultBytes {
			more = true
			break
		}
		out.WriteString(line)
		rows = append(rows, row)
	}
	if len(rows) == 0 && len(t.Rows) > 0 {
		return sallyport.Err(engine.ErrRowTooLarge.Error(), ""), nil
	}
	out.WriteString(summaryLine(len(columns) > 0, len(rows), more, t.Affected))
	res := sallyport.OK(out.String())
	res.Structured = map[string]any{"columns": columns, "rows": rows, "truncated": more, "affected": t.Affected}
	return res, nil
}

func summaryLine(table bool, rows int, more bool, affected int64) string {
	var parts []string
	if table {
		parts = append(parts, text.CountOf(rows, "row"))
	}
	if more {
		parts = append(parts, "more were left out; narrow the query")
	}
	if affected > 0 || !table {
		parts = append(parts, text.CountOf(int(affected), "row")+" changed")
	}
	return "(" + strings.Join(parts, "; ") + ")"
}

func compactJSON(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", fmt.Errorf("encode a row: %w", err)
	}
	return b.String(), nil
}
