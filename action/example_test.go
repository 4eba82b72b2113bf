package action_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/action"
	"github.com/sallyport/sallyport/registry"
)

func ExampleDecode() {
	_, err := action.Decode(json.RawMessage(`{
		"id": "get-weather", "description": "Fetch current weather",
		"parameters": {"location": {"type": "string", "required": true}},
		"handler": {"http": {"url": "https://api.example/weather?q={locaton}"}}
	}`), nil)
	fmt.Println(err)
	// Output:
	// /handler/http/url: {locaton} is no parameter; did you mean "location"?
}

func ExampleDefinition_Tool() {
	roll := action.Definition{
		ID: "roll", Description: "Roll a die.",
		Handler: action.Handler{Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("4"), nil
		}},
	}
	tool, err := roll.Tool()
	if err != nil {
		fmt.Println(err)
		return
	}
	gate, err := registry.New(nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := gate.Register(tool); err != nil {
		fmt.Println(err)
		return
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: sallyport.LocalPrincipal}}
	fmt.Println(gate.Call(context.Background(), caller, sallyport.Request{Tool: "roll"}).Value)
	// Output:
	// <untrusted source="unknown" tool="roll">
	// 4
	// </untrusted>
}
