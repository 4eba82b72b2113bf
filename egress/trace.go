package egress

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/tracing"
)

// tracedRoundTrip is roundTrip in a span of its own, where the call is traced. The span
// names the host, and neither path nor query: these may have anything in them.
func (c *Client) tracedRoundTrip(req *http.Request) (*http.Response, string, error) {
	_, span := tracing.StartSpan(req.Context(), spanName(req.Method), tracing.KindClient)
	if span == nil {
		return c.roundTrip(req)
	}
	defer span.EndSpan()
	span.SetText(tracing.KeyHTTPMethod, spanName(req.Method))
	span.SetText(tracing.KeyServerAddress, req.URL.Hostname())
	if port, err := strconv.ParseUint(req.URL.Port(), 10, 16); err == nil {
		span.SetNumber(tracing.KeyServerPort, int64(port))
	}
	resp, where, err := c.roundTrip(req)
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
