package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/httpapi"
	"github.com/sallyport/sallyport/registry"
)

// The API serves a gate behind a guard: the guard finds out who calls, and the
// gate decides what that principal may do.
func ExampleNew() {
	ctx := context.Background()
	gate, err := registry.New(nil, nil)
	if err != nil {
		panic(err)
	}
	err = gate.Register(sallyport.Tool{
		Name: "greet", Description: "Greets the caller.",
		Run: func(_ context.Context, c *sallyport.Call) (sallyport.Result, error) {
			return sallyport.OK("hello " + c.Principal.Name), nil
		},
	})
	if err != nil {
		panic(err)
	}
	server, err := httpapi.New(gate, nil)
	if err != nil {
		panic(err)
	}
	token := "example-token-of-one-principal-000"
	guard, err := auth.NewGuard("127.0.0.1:8080", auth.Single{
		Hash: auth.HashToken(token), Owner: sallyport.Principal{Name: "alice"},
	}, nil)
	if err != nil {
		panic(err)
	}

	r := httptest.NewRequest(http.MethodPost, "http://localhost:8080/v1/actions/greet/execute", strings.NewReader(`{}`))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	guard.Protect(server.Handler()).ServeHTTP(w, r)
	var answer struct {
		Success bool   `json:"success"`
		Data    string `json:"data"`
	}
	err = json.Unmarshal(w.Body.Bytes(), &answer)
	fmt.Println(w.Code, answer, err)

	fmt.Println(server.Shutdown(ctx), gate.Close(ctx))
	// Output:
	// 200 {true hello alice} <nil>
	// <nil> <nil>
}
