package transport_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/transport"
)

func TestFailureShowsNoTextOfALibrary(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	refused := sallyport.HostError("h.example", "")
	for _, tt := range []struct {
		name string
		ctx  context.Context
		err  error
		want string
	}{
		{"refusal", t.Context(), &url.Error{Op: "Get", URL: "https://h.example/?key=secret", Err: refused}, refused.Error()},
		{"end of the call", cancelled, io.ErrUnexpectedEOF, "context canceled"},
		{"time", t.Context(), &url.Error{Op: "Get", URL: "https://h.example/?key=secret", Err: os.ErrDeadlineExceeded}, "no answer in time"},
		{"body", t.Context(), io.ErrUnexpectedEOF, "the answer ended early"},
		{"head", t.Context(), &url.Error{Op: "Get", URL: "https://h.example/?key=secret", Err: io.EOF}, "the answer ended early"},
		{"other", t.Context(), errors.New("dial tcp 10.0.0.1:443: connection refused"), "the connection failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var cause error
			got := transport.Failure(tt.ctx, tt.err, func(what string, err error) error {
				cause = err
				return errors.New(what)
			})
			if got.Error() != tt.want || cause != nil && !errors.Is(tt.err, cause) {
				t.Errorf("Failure(%v) = %q with cause %v, want %q", tt.err, got, cause, tt.want)
			}
		})
	}
}
