package egress

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
)

// tracedRoundTrip is roundTrip in a span of its own, where the call is traced. The span
// names the host that the policy allows, and neither path nor query: these may have anything
// in them, as may the name of a host that is refused.
func (c *Client) tracedRoundTrip(req *http.Request) (*http.Response, string, error) {
	_, span := tracing.StartSpan(req.Context(), spanName(req.Method), tracing.KindClient)
	if span == nil {
		return c.roundTrip(req, nil)
	}
	defer span.EndSpan()
	span.SetText(tracing.KeyHTTPMethod, spanName(req.Method))
	resp, where, err := c.roundTrip(req, span)
	refused, coded := errors.AsType[*sallyport.Error](err)
	switch {
	case err == nil && resp.StatusCode >= http.StatusBadRequest:
		span.FailWith(strconv.Itoa(resp.StatusCode))
		fallthrough
	case err == nil:
		span.SetNumber(tracing.KeyHTTPStatus, int64(resp.StatusCode))
	case coded:
		span.FailWith(string(refused.Code))
	default:
		span.FailWith(tracing.ErrorOther)
	}
	return resp, where, err
}

// nameTarget says in the span of a request where it goes.
func nameTarget(span *tracing.Span, req *http.Request) {
	if span == nil {
		return
	}
	span.SetText(tracing.KeyServerAddress, req.URL.Hostname())
	if port, err := strconv.ParseUint(req.URL.Port(), 10, 16); err == nil {
		span.SetNumber(tracing.KeyServerPort, int64(port))
	}
}

// spanName returns a method of HTTP as the conventions name it.
func spanName(method string) string {
	switch method {
	case "":
		return http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "HTTP"
}
