package schema

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*sallyport.Error](err); ok {
		return string(e.Code)
	}
	return ""
}

type search struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int8     `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Where *place   `json:"where,omitempty"`
}

type place struct {
	Path string `json:"path"`
}

func searchTool(t *testing.T, schema string) (sallyport.Tool, *search) {
	t.Helper()
	got := new(search)
	tool := sallyport.Tool{Name: "search"}
	if schema != "" {
		tool.Schema = json.RawMessage(schema)
	}
	tool, err := Tool(tool, func(_ context.Context, _ *sallyport.Call, in search) (sallyport.Result, error) {
		*got = in
		return sallyport.OK(in.Query), nil
	})
	if err != nil {
		t.Fatalf("Tool(search) = %v", err)
	}
	return tool, got
}

func TestToolInfersSchema(t *testing.T) {
	tool, _ := searchTool(t, "")
	const want = `{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},` +
		`"limit":{"type":"integer","minimum":-128,"maximum":127},"tags":{"type":"array","items":{"type":"string"}},` +
		`"where":{"type":["null","object"],"properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}},` +
		`"required":["query"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(tool.Schema)); diff != "" {
		t.Errorf("inferred schema (-want +got):\n%s", diff)
	}
}

func TestToolDecodes(t *testing.T) {
	tool, got := searchTool(t, "")
	args := `{"query":"q","limit":3,"tags":["a"],"where":{"path":"p"}}`
	r, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(args)})
	if err != nil || !r.OK || r.Value != "q" {
		t.Fatalf("Run(%s) = %+v, %v", args, r, err)
	}
	want := search{Query: "q", Limit: 3, Tags: []string{"a"}, Where: &place{Path: "p"}}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("Run(%s) decoded (-want +got):\n%s", args, diff)
	}
}

// Run is strict by itself: nothing here has passed a gate.
func TestToolIsStrictOutsideTheGate(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"missing", ``, "/query: is required"},
		{"case variant", `{"query":"q","Limit":1}`, `/Limit: is not a known property; did you mean "limit"?`},
		{"case variant that encoding/json would take", `{"query":"safe","QUERY":"x"}`, `/QUERY: is not a known property; did you mean "query"?`},
		{"case variant deep", `{"query":"q","where":{"path":"a","Path":"b"}}`, `/where/Path: is not a known property; did you mean "path"?`},
		{"repeated", `{"query":"a","query":"b"}`, `arguments: repeats the key "query"`},
		{"unknown", `{"query":"a","other":1}`, "/other: is not a known property"},
		{"too large for the type", `{"query":"a","limit":300}`, "/limit: must be at most 127"},
		{"trailing text", `{"query":"a"}x`, "arguments: has more text after the value"},
	}
	tool, _ := searchTool(t, "")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(tt.args)})
			if codeOf(err) != "input_invalid" || err.Error() != tt.want {
				t.Errorf("Run(%s) = %v, want input_invalid %v", tt.args, err, tt.want)
			}
		})
	}
}

func TestToolKeepsItsOwnSchema(t *testing.T) {
	own := `{"type":"object","properties":{"query":{"type":"string","enum":["a","b"],"default":"b"},"limit":{"type":"number"}}}`
	tool, got := searchTool(t, own)
	if string(tool.Schema) != own {
		t.Errorf("Schema = %s, want %s", tool.Schema, own)
	}
	if r, err := tool.Run(t.Context(), &sallyport.Call{}); err != nil || r.Value != "b" {
		t.Errorf("Run() = %+v, %v, want the default", r, err)
	}
	if _, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(`{"query":"c"}`)}); err == nil {
		t.Error("Run outside the enum = nil, want an error")
	}
	_, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(`{"query":"a","limit":1.5}`)})
	if codeOf(err) != "input_invalid" || err.Error() != "/limit: does not fit the type int8" {
		t.Errorf("Run with a fraction for int8 = %v", err)
	}
	if got.Limit != 0 {
		t.Errorf("the function ran with limit %d", got.Limit)
	}
}

func TestToolRefuses(t *testing.T) {
	run := func(context.Context, *sallyport.Call, search) (sallyport.Result, error) {
		return sallyport.Result{}, nil
	}
	type cyclic struct {
		Next *cyclic `json:"next"`
	}
	tests := []struct {
		name string
		make func() (sallyport.Tool, error)
		want string
	}{
		{"no function", func() (sallyport.Tool, error) { return Tool[search](sallyport.Tool{Name: "x"}, nil) }, "tool x: no function"},
		{"broken schema", func() (sallyport.Tool, error) {
			return Tool(sallyport.Tool{Name: "x", Schema: json.RawMessage(`{"type":"array"}`)}, run)
		}, "tool x: schema: /type"},
		{"not a struct", func() (sallyport.Tool, error) {
			return Tool(sallyport.Tool{Name: "x"}, func(context.Context, *sallyport.Call, []int) (sallyport.Result, error) {
				return sallyport.Result{}, nil
			})
		}, "tool x: arguments: []int is not a struct"},
		{"function field", func() (sallyport.Tool, error) {
			return Tool(sallyport.Tool{Name: "x"}, func(context.Context, *sallyport.Call, struct{ F func() }) (sallyport.Result, error) {
				return sallyport.Result{}, nil
			})
		}, "tool x: arguments: For[struct { F func() }]"},
		{"cyclic type", func() (sallyport.Tool, error) {
			return Tool(sallyport.Tool{Name: "x"}, func(context.Context, *sallyport.Call, cyclic) (sallyport.Result, error) {
				return sallyport.Result{}, nil
			})
		}, "cycle detected"},
		{"broken returns", func() (sallyport.Tool, error) {
			return ToolWithOutput(sallyport.Tool{Name: "x", Returns: json.RawMessage(`{"type":1}`)}, func(context.Context, *sallyport.Call, search) (place, error) { return place{}, nil })
		}, "tool x: returns: /type"},
		{"output is no struct", func() (sallyport.Tool, error) {
			return ToolWithOutput(sallyport.Tool{Name: "x"}, func(context.Context, *sallyport.Call, search) (string, error) { return "", nil })
		}, "tool x: result: string is not a struct"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := tt.make(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestMustToolPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("MustTool with a broken schema did not panic")
		}
	}()
	MustTool(sallyport.Tool{Schema: json.RawMessage(`1`)}, func(context.Context, *sallyport.Call, search) (sallyport.Result, error) {
		return sallyport.Result{}, nil
	})
}

func TestToolWithOutput(t *testing.T) {
	type out struct {
		Count int      `json:"count"`
		Lines []string `json:"lines"`
	}
	fail := errors.New("broken")
	tool, err := ToolWithOutput(sallyport.Tool{Name: "x"}, func(_ context.Context, _ *sallyport.Call, in search) (out, error) {
		if in.Query == "fail" {
			return out{}, fail
		}
		return out{Count: 3}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(`{"query":"q"}`)})
	if err != nil || !r.OK || r.Value != `{"count":3,"lines":null}` {
		t.Fatalf("Run = %+v, %v", r, err)
	}
	s, err := CompileAny(tool.Returns)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Validate(r.Structured); f != nil {
		t.Errorf("its own result does not satisfy %s: %v", tool.Returns, f)
	}
	if _, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(`{"query":"fail"}`)}); !errors.Is(err, fail) {
		t.Errorf("Run that fails = %v, want the function's error", err)
	}
}

func TestToolTags(t *testing.T) {
	type args struct {
		Unit  string   `json:"unit,omitempty" enum:"celsius,fahrenheit" default:"celsius"`
		Days  int      `json:"days,omitempty" minimum:"1" maximum:"14" default:"3"`
		Parts []string `json:"parts,omitempty" enum:"wind,rain" default:"[\"wind\"]"`
		Where struct {
			Zoom int `json:"zoom,omitempty" default:"5"`
		} `json:"where,omitzero"`
	}
	var got args
	tool := MustTool(sallyport.Tool{Name: "x"}, func(_ context.Context, _ *sallyport.Call, in args) (sallyport.Result, error) {
		got = in
		return sallyport.OK(""), nil
	})
	if _, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(`{"where":{}}`)}); err != nil {
		t.Fatal(err)
	}
	want := args{Unit: "celsius", Days: 3, Parts: []string{"wind"}}
	want.Where.Zoom = 5
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("defaults of the tags (-want +got):\n%s", diff)
	}
	const bad = `{"unit":"kelvin","days":15,"parts":["snow"]}`
	const faults = `/days: must be at most 14; /parts/0: must be one of "wind", "rain"; /unit: must be one of "celsius", "fahrenheit"`
	if _, err := tool.Run(t.Context(), &sallyport.Call{Args: json.RawMessage(bad)}); err == nil || err.Error() != faults {
		t.Errorf("Run(%s) = %v, want %v", bad, err, faults)
	}
}

func TestToolTagsRefused(t *testing.T) {
	tests := []struct {
		name string
		make func() error
		want string
	}{
		{"default of wrong type", makeTool[struct {
			N int `json:"n,omitempty" default:"\"x\""`
		}], "/properties/n/default: must be an integer"},
		{"default is no JSON", makeTool[struct {
			N int `json:"n,omitempty" default:"x"`
		}], "field N: default: is not valid JSON"},
		{"minimum is no number", makeTool[struct {
			N int `json:"n,omitempty" minimum:"one"`
		}], "field N: minimum:"},
		{"enum is no JSON", makeTool[struct {
			N int `json:"n,omitempty" enum:"1,"`
		}], "field N: enum:"},
		{"deep", makeTool[struct {
			L []struct {
				N int `json:"n,omitempty" default:"1" maximum:"0"`
			} `json:"l"`
		}], "/default: must be at most 0"},
	}
	for _, tt := range tests {
		if err := tt.make(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Tool = %v, want %v", tt.name, err, tt.want)
		}
	}
}

func makeTool[In any]() error {
	_, err := Tool(sallyport.Tool{Name: "x"}, func(context.Context, *sallyport.Call, In) (sallyport.Result, error) {
		return sallyport.Result{}, nil
	})
	return err
}

// A schema that a tool of this program brings along is compiled once, and shared with those
// who register the tool.
func TestTheSchemaOfAToolIsCompiledOnce(t *testing.T) {
	t.Parallel()
	written := json.RawMessage(`{"type":"object","properties":{"shared":{"type":"string","maxLength":17}}}`)
	made := MustTool(sallyport.Tool{Name: "t", Schema: written}, func(context.Context, *sallyport.Call, struct{}) (sallyport.Result, error) {
		return sallyport.OK(""), nil
	})
	var one, another Cache
	first, err := one.Compile(made.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := another.Compile(made.Schema); err != nil || first != second {
		t.Errorf("another cache compiled the schema again: %v", err)
	}
	if other, err := one.CompileAny(made.Schema); err != nil || other == first {
		t.Errorf("a schema of arguments stands for one of any value: %v", err)
	}
}
