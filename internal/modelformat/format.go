// Package modelformat writes the definitions of tools as the programming interfaces
// of models take them: names within their limits, schemas within their subset
// of JSON Schema.
//
// Start with [Parse] and [Dialect.Tools]. A schema is only ever made to accept
// more: the gate holds arguments to the whole schema, whatever a model was
// told. What was left out, and which names are others, is said beside the
// definitions.
package modelformat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport/sallyport/internal/definition"
	"github.com/sallyport/sallyport/registry"
)

// Dialect is how one programming interface takes tools.
type Dialect string

// The dialects.
const (
	// OpenAI is the list "tools" of chat completions.
	OpenAI Dialect = "openai"
	// Anthropic is the list "tools" of messages.
	Anthropic Dialect = "anthropic"
	// Gemini is one element of the list "tools" of generateContent.
	Gemini Dialect = "gemini"
	// MCP is the list "tools" of an answer to tools/list.
	MCP Dialect = "mcp"
)

// Parse returns the dialect of a name.
func Parse(name string) (Dialect, error) {
	switch d := Dialect(name); d {
	case OpenAI, Anthropic, Gemini, MCP:
		return d, nil
	default:
		return "", fmt.Errorf("--format %q: expected openai, anthropic, gemini or mcp", name)
	}
}

// Set is definitions in one dialect.
type Set struct {
	// Document is what the interface takes, to be written as JSON.
	Document any
	// Names holds the names that had to be others: from what the model is told
	// to the name of the tool. A call takes the latter alone.
	Names map[string]string
	// Notes say what a model is not told, in the order of the tools.
	Notes []Note
}

// Note says what of a definition is not in a dialect.
type Note struct {
	// Tool is its name, Message says what is left out and why.
	Tool, Message string
}

// Tools writes definitions. No two of them get one name. The error says which
// tool has a schema that cannot be read.
func (d Dialect) Tools(defs []registry.Definition) (*Set, error) {
	originals := make([]string, len(defs))
	for i := range defs {
		originals[i] = defs[i].Name
	}
	names := d.fitNames(originals)
	s := &Set{Names: map[string]string{}}
	out := make([]any, len(defs))
	for i := range defs {
		if names[i] != defs[i].Name {
			s.Names[names[i]] = defs[i].Name
		}
		tool, left, err := d.encodeTool(&defs[i], names[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", defs[i].Name, err)
		}
		out[i] = tool
		if len(left) > 0 {
			s.Notes = append(s.Notes, Note{defs[i].Name, strings.Join(left, ", ") + ": not in what " + string(d) + " takes; the gate still checks"})
		}
	}
	if s.Document = any(out); d == Gemini {
		s.Document = map[string]any{"functionDeclarations": out}
	}
	return s, nil
}

func (d Dialect) encodeTool(def *registry.Definition, name string) (tool any, left []string, err error) {
	if d == MCP {
		return mcpTool(def, name), nil, nil
	}
	parameters, schema, left, err := d.encodeParameters(def.Schema)
	if err != nil {
		return nil, nil, err
	}
	switch d {
	case OpenAI:
		function := map[string]any{"name": name, "description": def.Description, "parameters": parameters}
		if isStrict(schema) {
			function["strict"] = true
		}
		return map[string]any{"type": "function", "function": function}, left, nil
	case Anthropic:
		return map[string]any{"name": name, "description": def.Description, "input_schema": parameters}, left, nil
	default:
		return map[string]any{"name": name, "description": def.Description, "parametersJsonSchema": parameters}, left, nil
	}
}

func mcpTool(def *registry.Definition, name string) map[string]any {
	tool := map[string]any{
		"name": name, "title": def.Title, "description": def.Description, "inputSchema": def.Schema,
		"annotations": map[string]any{
			"title": def.Title, "readOnlyHint": def.ReadOnly, "destructiveHint": def.Destructive,
			"idempotentHint": def.Idempotent, "openWorldHint": def.OpenWorld,
		},
	}
	if def.Returns != nil {
		tool["outputSchema"] = def.Returns
	}
	return tool
}

// encodeParameters returns the schema of arguments in a dialect, as JSON and as
// a tree. A schema that fits is written letter by letter, in its own order.
func (d Dialect) encodeParameters(raw json.RawMessage) (out json.RawMessage, tree map[string]any, left []string, err error) {
	if len(raw) == 0 {
		raw = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if tree, err = decodeSchema(raw); err != nil {
		return nil, nil, nil, err
	}
	before, err := json.Marshal(tree)
	if err != nil {
		return nil, nil, nil, err
	}
	r := schemaReducer{dialect: d}
	tree = r.reduceRoot(tree)
	after, err := definition.Compact(tree)
	if err != nil {
		return nil, nil, nil, err
	}
	slices.Sort(r.left)
	if same, err := json.Marshal(tree); err == nil && bytes.Equal(before, same) {
		after = raw
	}
	return after, tree, slices.Compact(r.left), nil
}

// decodeSchema reads a schema, which is true or an object.
func decodeSchema(raw json.RawMessage) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	if v == true {
		return map[string]any{}, nil
	}
	tree, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the schema is no object")
	}
	return tree, nil
}
