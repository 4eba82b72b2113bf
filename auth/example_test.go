package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/auth"
)

// A guard lets in requests for its own address that carry a known token.
func ExampleNewGuard() {
	token := "example-token-of-one-principal-000"
	g, err := auth.NewGuard("127.0.0.1:8080", auth.Single{
		Hash: auth.HashToken(token), Owner: sallyport.Principal{Name: "alice"},
	}, nil)
	if err != nil {
		panic(err)
	}
	handler := g.Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := auth.PrincipalFrom(r.Context())
		fmt.Fprint(w, "hello ", p.Name)
	}))
	ask := func(host, token string) {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/", nil)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	ask("localhost:8080", token)
	ask("localhost:8080", "")
	ask("attacker.example", token)
	// Output:
	// 200 hello alice
	// 401 a bearer token is required
	// 403 the Host header names another server
}
