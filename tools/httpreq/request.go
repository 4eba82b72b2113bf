package httpreq

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/text"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const (
	// maxHeaders and maxHeaderBytes bound what a caller may add; servers
	// refuse headers of more than 8 KiB by default (nginx, Apache).
	maxHeaders     = 64
	maxHeaderBytes = 8 << 10
)

// newRequest returns the request for an address, with the caller's headers.
func newRequest(ctx context.Context, in getInput) (*http.Request, error) {
	req, err := reply.NewRequest(ctx, in.URL, "*/*")
	if err != nil {
		return nil, err
	}
	return req, setHeaders(req.Header, in.Headers)
}

// setHeaders adds the caller's headers, or refuses all of them. Two spellings
// of one name never get here: the arguments are decoded strictly.
func setHeaders(h http.Header, given map[string]string) error {
	if len(given) > maxHeaders {
		return sallyport.InputInvalid(fmt.Sprintf("headers has more than %d entries", maxHeaders))
	}
	bytes := 0
	for name, value := range given {
		shown := strconv.Quote(text.FirstChars(name, 100))
		bytes += len(name) + len(value)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return sallyport.InputInvalid("headers: " + shown + " is not a header name")
		case !httpguts.ValidHeaderFieldValue(value):
			return sallyport.InputInvalid("headers: the value of " + shown + " holds a line break or another control character")
		case isReservedHeader(name):
			return sallyport.InputInvalid("headers: " + shown + " says how a request travels and is not for a caller to set")
		case bytes > maxHeaderBytes:
			return sallyport.InputInvalid(fmt.Sprintf("headers is longer than %d bytes", maxHeaderBytes))
		}
		h.Set(name, value)
	}
	return nil
}

// isReservedHeader reports whether a header belongs to the connection, to proxies or
// to the framing of messages (RFC 9110, sections 7 and 8.6), or makes a GET
// something else. Servers behind CGI take "_" for "-", and a header "Proxy"
// for the proxy of their own requests (CVE-2016-5385). Others believe a header
// about who is asking, or for what, because their own proxy sets it.
func isReservedHeader(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "host", "connection", "keep-alive", "content-length", "transfer-encoding", "te", "trailer", "upgrade",
		"http2-settings", "expect", "via", "forwarded", "proxy", "accept-encoding",
		"x-http-method", "x-http-method-override", "x-method-override",
		"x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "fastly-client-ip",
		"x-original-url", "x-rewrite-url", "x-original-host", "x-host":
		return true
	default:
		return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded-")
	}
}
