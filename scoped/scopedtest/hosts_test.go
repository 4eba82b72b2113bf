package scopedtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/registry"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

type fetchInput struct {
	URL string `json:"url"`
}

// fetch answers with what a URL holds.
func fetch(_ context.Context, c *sallyport.Call, in fetchInput) (sallyport.Result, error) {
	res, err := c.Network.Client().Get(in.URL)
	if err != nil {
		return sallyport.Result{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return sallyport.OK(string(body)), err
}

type roles map[string]*sallyport.Personality

func (r roles) Personality(name string) (*sallyport.Personality, bool) {
	p, ok := r[name]
	return p, ok
}

// newFetcher returns a function that fetches a URL through a registry.
func newFetcher(t testing.TB, network *sallyport.NetworkBackend, declared []string, role *sallyport.NetworkPolicy) func(url string) sallyport.Result {
	t.Helper()
	r, err := registry.New(&sallyport.Backends{Personalities: roles{"agent": {Name: "agent", Network: role}}, Network: network}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	if err := r.Register(schema.MustTool(sallyport.Tool{
		Name: "fetch", Description: "Fetches.", ReadOnly: true,
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: declared}},
	}, fetch)); err != nil {
		t.Fatal(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: "agent"}
	return func(url string) sallyport.Result {
		return r.Call(t.Context(), caller, sallyport.Request{Tool: "fetch", Args: fmt.Appendf(nil, `{"url":%q}`, url)})
	}
}

func TestTheGateDecidesAboutTheHostsOfATest(t *testing.T) {
	network := scopedtest.NewNetwork(t, map[string]http.Handler{
		"api.example.com":      page("api"),
		"api.example.com:8443": page("odd"),
		"www.example.com":      page("www"),
		"old.example.com":      http.RedirectHandler("https://www.example.com/", http.StatusFound),
		"evil.example.com":     page("evil"),
	})
	call := newFetcher(t, network, []string{"*.example.com", "api.example.com:8443"},
		&sallyport.NetworkPolicy{
			Allow: []string{"api.example.com", "api.example.com:8443", "old.example.com", "gone.example.com", "evil.example.com"},
			Deny:  []string{"evil.example.com"},
		})
	for _, tt := range []struct{ name, url, want string }{
		{"https", "https://api.example.com/v1?q=1", "api"},
		{"http on its port", "http://api.example.com/", "api"},
		{"a port of its own", "https://api.example.com:8443/", "odd"},
		{"outside the role", "https://www.example.com/", "HOST_NOT_ALLOWED: www.example.com is not in the declared allowedHosts"},
		{"outside the declaration", "https://example.com/", "HOST_NOT_ALLOWED: example.com is not in the declared allowedHosts"},
		{"denied", "https://evil.example.com/", "HOST_NOT_ALLOWED: evil.example.com"},
		{"a redirect that leads out", "https://old.example.com/", "HOST_NOT_ALLOWED: www.example.com"},
		{"the floor", "https://169.254.169.254/", "HOST_NOT_ALLOWED: 169.254.169.254 is a cloud metadata address"},
		{"a host that is not there", "https://gone.example.com/", "gone.example.com could not be resolved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if res := call(tt.url); !strings.Contains(res.Value+res.Error, tt.want) {
				t.Errorf("fetch %s = %q %q, want %q in it", tt.url, res.Value, res.Error, tt.want)
			}
		})
	}
}

// TestOnlyTheRootsOfTheNetworkAreTrusted: without them the certificate of a host
// is not trusted.
func TestOnlyTheRootsOfTheNetworkAreTrusted(t *testing.T) {
	hosts := map[string]http.Handler{"api.example.com": page("api")}
	network, other := scopedtest.NewNetwork(t, hosts), scopedtest.NewNetwork(t, hosts)
	network.RootCAs = nil
	other.Dial = network.Dial
	for name, n := range map[string]*sallyport.NetworkBackend{"the system's": network, "those of another": other} {
		res := newFetcher(t, n, []string{"api.example.com"}, nil)("https://api.example.com/")
		if res.OK || !strings.Contains(res.Error, "certificate") {
			t.Errorf("with the roots %s: %q %q, want a refusal of the certificate", name, res.Value, res.Error)
		}
	}
}

// A registry calls the tool as the program does, against hosts of the test.
func ExampleNewNetwork() {
	t := &exampleT{} // in a test, its *testing.T
	defer t.done()
	r, err := registry.New(&sallyport.Backends{
		Personalities: roles{"agent": {Name: "agent", Network: &sallyport.NetworkPolicy{Allow: []string{"api.example.com"}}}},
		Network:       scopedtest.NewNetwork(t, map[string]http.Handler{"api.example.com": page("hello")}),
	}, nil)
	if err != nil {
		panic(err)
	}
	err = r.Register(schema.MustTool(sallyport.Tool{
		Name: "fetch", Description: "Fetches a page.", ReadOnly: true,
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*.example.com"}}},
	}, fetch))
	if err != nil {
		panic(err)
	}
	caller := &sallyport.Caller{Principal: sallyport.Principal{Name: "me"}, Personality: "agent"}
	for _, url := range []string{"https://api.example.com/", "https://www.example.com/"} {
		res := r.Call(context.Background(), caller, sallyport.Request{Tool: "fetch", Args: fmt.Appendf(nil, `{"url":%q}`, url)})
		fmt.Println(res.Value + res.Error)
	}
	if err := r.Close(context.Background()); err != nil {
		panic(err)
	}
	// Output:
	// hello
	// HOST_NOT_ALLOWED: www.example.com is not in the declared allowedHosts
}
