package egress_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

func ExampleNewProxy() {
	policy, err := egress.NewPolicy(sallyport.NetworkGrant{Allow: []string{"*.example.com"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	proxy, err := egress.NewProxy(policy, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer proxy.Close()
	// A child's listener comes out of its network namespace.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go proxy.Serve(l)
	child := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()}),
	}}
	resp, err := child.Get("http://example.org/")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Printf("%d %s", resp.StatusCode, text)
	for _, u := range proxy.Uses() {
		fmt.Printf("%s:%d allowed=%t\n", u.Host, u.Port, u.Allowed)
	}
	// Output:
	// 403 HOST_NOT_ALLOWED: example.org is not in the declared allowedHosts
	// example.org:80 allowed=false
}
