package schema_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/schema"
)

func ExampleTool() {
	type args struct {
		Name  string `json:"name" jsonschema:"who is greeted"`
		Times int    `json:"times,omitempty"`
	}
	tool, err := schema.Tool(sallyport.Tool{
		Name:        "greet",
		Description: "Greet a person",
	}, func(_ context.Context, _ *sallyport.Call, in args) (sallyport.Result, error) {
		return sallyport.OK("Hello, " + in.Name), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(tool.Schema))

	r, err := tool.Run(context.Background(), &sallyport.Call{Args: json.RawMessage(`{"name":"Ada"}`)})
	fmt.Println(r.Value, err)
	_, err = tool.Run(context.Background(), &sallyport.Call{Args: json.RawMessage(`{"Name":"Ada","times":"two"}`)})
	fmt.Println(err)
	// Output:
	// {"type":"object","properties":{"name":{"type":"string","description":"who is greeted"},"times":{"type":"integer"}},"required":["name"],"additionalProperties":false}
	// Hello, Ada <nil>
	// /Name: is not a known property; did you mean "name"?; /name: is required; /times: must be an integer
}

func ExampleSchema_Arguments() {
	s, err := schema.Compile(json.RawMessage(`{
		"type": "object",
		"properties": {
			"location": {"type": "string"},
			"unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"}
		},
		"required": ["location"]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	doc, err := s.Arguments(json.RawMessage(`{"location": "Paris"}`))
	fmt.Println(string(doc.JSON), err)
	_, err = s.Arguments(json.RawMessage(`{"unit": "kelvin"}`))
	fmt.Println(err)
	// Output:
	// {"location":"Paris","unit":"celsius"} <nil>
	// /location: is required; /unit: must be one of "celsius", "fahrenheit"
}

func ExampleDecode() {
	v, err := schema.Decode([]byte(`{"path":"a","path":"b"}`), nil)
	fmt.Println(v, err)
	// Output:
	// <nil> repeats the key "path"
}
