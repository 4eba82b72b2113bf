// Package httpreq holds the tool http-get, which sends one GET request and
// hands the answer on as it is. [Tools] returns it for a registry.
//
// The host, the addresses and the redirects are decided by the accessor of the
// call. The tool refuses headers that say how a request travels instead of
// what it asks for, and bounds the time and the sizes. An answer with an error
// status is an answer: the call succeeds and tells the status.
//
// The package turns nothing into readable text; package web does that.
package httpreq

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/effect"
	"github.com/sallyport/sallyport/schema"
	"github.com/sallyport/sallyport/tools/internal/args"
	"github.com/sallyport/sallyport/tools/internal/reply"
)

const (
	// toolset is the label of the tool.
	toolset = "http"
	// permission is what a principal needs to send a request.
	permission = "http:read"
	// defaultTimeout is the time of a request in milliseconds.
	defaultTimeout = 30_000
	// maxTimeout is the most, in milliseconds: the accessor ends an exchange
	// after 100 seconds.
	maxTimeout = 100_000
)

// getInput is the arguments of http-get.
type getInput struct {
	URL     string            `json:"url" jsonschema:"Absolute http or https address."`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"Request headers: values by name."`
	Timeout float64           `json:"timeout,omitempty" jsonschema:"Most milliseconds to wait for the whole answer."`
}

// Tools returns http-get. The caller owns the slice; the tool may be used by
// many calls at once. It asks for "*", which is whatever the personality
// allows and nothing without a network block, and for the permission
// http:read.
func Tools() []sallyport.Tool {
	return []sallyport.Tool{schema.MustTool(sallyport.Tool{
		Name: "http-get", Title: "HTTP GET", Toolset: toolset,
		Description: "Perform an HTTP GET request and return the body as it is, with status and headers in the structured result. " +
			"An error status is a result too. To read a web page use fetch_url.",
		Schema: args.Schema[getInput](func(get func(string) args.Property) {
			get("url").Length(1, reply.MaxURLBytes).Format("uri")
			get("timeout").Between(1, maxTimeout).Default(defaultTimeout)
		}),
		Capabilities: sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"*"}}},
		Touches:      []sallyport.Touch{{Capability: "network", Argument: "url"}},
		Destinations: map[string]sallyport.ValueKind{"url": effect.URL},
		Permissions:  []string{permission}, Timeout: (maxTimeout + 20_000) * time.Millisecond,
		HonoursDeadline: true, ReadOnly: true, Idempotent: true, OutputIsUntrusted: true,
	}, sendGet)}
}

// sendGet runs a call of http-get.
func sendGet(ctx context.Context, c *sallyport.Call, in getInput) (sallyport.Result, error) {
	limit := time.Duration(in.Timeout * float64(time.Millisecond))
	if in.Timeout == 0 {
		limit = defaultTimeout * time.Millisecond
	}
	within, cancel := context.WithTimeout(ctx, min(limit, maxTimeout*time.Millisecond))
	defer cancel()
	req, err := newRequest(within, in)
	if err != nil {
		return sallyport.Result{}, err
	}
	c.Emit(sallyport.Progress{Message: "GET " + req.URL.Host})
	failed := func(err error) (sallyport.Result, error) {
		if within.Err() != nil && ctx.Err() == nil {
			return sallyport.Result{}, newTimeUpError(req.URL, limit)
		}
		return sallyport.Result{}, reply.Failure(ctx, req.URL, err)
	}
	resp, err := c.Network.Client().Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = resp.Body.Close() }() // Nothing was written.
	a, err := reply.Read(resp, true)
	if err != nil {
		return failed(err)
	}
	return newAnswerResult(a, resp.Header), nil
}

// newTimeUpError is the end of the time that the caller gave. It has no cause, so that
// the gate does not take it for a failure that passes and waits again.
func newTimeUpError(u *url.URL, limit time.Duration) error {
	return &sallyport.Error{
		Code: sallyport.CodeExecutionFailed, Resource: u.Host, Operation: "get",
		Detail: fmt.Sprintf("cannot fetch %s: no answer in %v", u.Redacted(), limit),
	}
}
