package reply

import (
	"context"
	"net/http"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

// UserAgent says who is asking, honestly: some servers refuse what looks like
// a browser and is none.
const UserAgent = "sallyport/1.0 (+https://github.com/sallyport/sallyport)"

// NewRequest returns the request for an address, which asks for media types. It checks
// the address by the rules of the accessor, which goes by the same text and refuses
// what lies outside the grant.
func NewRequest(ctx context.Context, address, accept string) (*http.Request, error) {
	u, err := egress.ParseURL(address)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, sallyport.InputInvalid("url is not an absolute http or https address")
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", UserAgent)
	return req, nil
}
