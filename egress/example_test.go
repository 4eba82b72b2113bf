package egress_test

import (
	"errors"
	"fmt"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

func Example() {
	client, err := egress.New(sallyport.NetworkGrant{Allow: []string{"*.example.com"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	call := client.Bind(nil)
	for _, url := range []string{"https://example.org/", "http://169.254.169.254/latest/meta-data/"} {
		resp, err := call.Client().Get(url)
		if err != nil {
			e, _ := errors.AsType[*sallyport.Error](err)
			fmt.Println(e)
			continue
		}
		resp.Body.Close()
	}
	// Output:
	// HOST_NOT_ALLOWED: example.org is not in the declared allowedHosts
	// HOST_NOT_ALLOWED: 169.254.169.254 is a cloud metadata address
}

func ExampleParseURL() {
	_, err := egress.ParseURL("https://api.example.com@evil.example/")
	fmt.Println(err)
	// Output: HOST_NOT_ALLOWED: the URL carries user info
}
