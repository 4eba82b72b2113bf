package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/registry"
)

// A client of the Model Context Protocol calls a tool over a pair of streams,
// as it does over standard input and output.
func ExampleServer_Stdio() {
	ctx := context.Background()
	gate, err := registry.New(nil, nil)
	if err != nil {
		panic(err)
	}
	err = gate.Register(sallyport.Tool{
		Name: "greet", Description: "Greets the caller.",
		Run: func(context.Context, *sallyport.Call) (sallyport.Result, error) { return sallyport.OK("hello"), nil },
	})
	if err != nil {
		panic(err)
	}
	server, err := gateway.New(gate, &gateway.Options{Version: "v1.0.0"})
	if err != nil {
		panic(err)
	}

	requests, client := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.Stdio(ctx, requests, out) }()
	decoder := json.NewDecoder(answers)
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{}}}`,
	} {
		fmt.Fprintln(client, request)
		var answer struct {
			ID     int `json:"id"`
			Result struct {
				ServerInfo struct{ Name, Version string } `json:"serverInfo"`
				Content    []struct{ Type, Text string }  `json:"content"`
			} `json:"result"`
		}
		if err := decoder.Decode(&answer); err != nil {
			panic(err)
		}
		fmt.Printf("%+v\n", answer)
	}
	client.Close()
	fmt.Println(<-ended, server.Shutdown(ctx), gate.Close(ctx))
	// Output:
	// {ID:1 Result:{ServerInfo:{Name:sallyport Version:v1.0.0} Content:[]}}
	// {ID:2 Result:{ServerInfo:{Name: Version:} Content:[{Type:text Text:hello}]}}
	// <nil> <nil> <nil>
}
