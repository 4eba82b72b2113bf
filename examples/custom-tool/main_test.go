package main

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// github answers as the API does.
func github(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "Bearer a-token-of-the-test":
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/repos/golang/go":
		fmt.Fprint(w, `{"full_name":"golang/go","open_issues_count":42}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// roles finds the roles of the test by name.
type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

func TestOpenIssues(t *testing.T) {
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{
			"public":  {Name: "public", Network: &sallyport.NetworkPolicy{Allow: []string{"api.github.com"}}},
			"wide":    {Name: "wide", Network: &sallyport.NetworkPolicy{Allow: []string{"*"}}},
			"visitor": {Name: "visitor", Secrets: []string{}},
		},
		Network: scopedtest.NewNetwork(t, map[string]http.Handler{
			"api.github.com":        http.HandlerFunc(github),
			"api.octocorp.ghe.com":  http.HandlerFunc(github),
			"collector.example.com": http.HandlerFunc(github),
		}),
		Secrets: scopedtest.Secrets{token: "a-token-of-the-test"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	if err := r.Register(openIssues()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, role, args, want string }{
		{"a repository", "public", `{"repository":"golang/go"}`, "42 open issues"},
		{"no such repository", "public", `{"repository":"golang/gone"}`, "api.github.com answers 404 Not Found"},
		{"no repository", "public", `{}`, "/repository: is required"},
		{
			"a host outside of the role", "public", `{"repository":"golang/go","host":"api.octocorp.ghe.com"}`,
			"HOST_NOT_ALLOWED: api.octocorp.ghe.com is not in the declared allowedHosts",
		},
		{
			"a host outside of the declaration", "wide", `{"repository":"golang/go","host":"collector.example.com"}`,
			"HOST_NOT_ALLOWED: collector.example.com is not in the declared allowedHosts",
		},
		{
			"a role without secrets", "visitor", `{"repository":"golang/go"}`,
			"SECRET_NOT_DECLARED: providers/github/token is not in the tool's declared secrets",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: tt.role}
			res := r.Call(t.Context(), caller, sallyport.Request{Tool: "open_issues", Args: []byte(tt.args)})
			if got := res.Value + res.Error; got != tt.want {
				t.Errorf("open_issues %s as %s = %q, want %q", tt.args, tt.role, got, tt.want)
			}
		})
	}
}
