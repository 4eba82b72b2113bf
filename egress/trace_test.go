package egress

import (
	"net/http"
	"testing"

	"github.com/sallyport/sallyport/internal/tracing"
)

// A host that the policy does not know may be anything that an agent wants to be told.
func TestASpanNamesTheHostThatIsAllowedAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(http.ResponseWriter, *http.Request) {})
	b := w.client(t, allow("a.example"), Options{}).Bind(nil)
	for _, tt := range []struct{ method, url, want string }{
		{"GET", "http://a.example/path", "a.example"},
		{"GET", "http://made-up-by-the-agent.b.example:81/", ""},
		{"TRACE", "http://a.example/", ""},
	} {
		var got *tracing.Call
		ctx := tracing.NewTracer(1, false, func(c *tracing.Call) { got = c }).BeginCall(t.Context())
		req, err := http.NewRequestWithContext(ctx, tt.method, tt.url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := b.RoundTrip(req); err == nil {
			resp.Body.Close()
		}
		tracing.CallOf(ctx).EndCall()
		if got.CountSpans() != 2 {
			t.Fatalf("%s %s has %d spans, want 2", tt.method, tt.url, got.CountSpans())
		}
		address := ""
		for _, a := range got.Spans()[1].Attrs {
			if a.Key == tracing.KeyServerAddress {
				address = a.Text
			}
			if a.Key == tracing.KeyServerPort && tt.want == "" {
				t.Errorf("%s %s: the span has the port %d", tt.method, tt.url, a.Number)
			}
		}
		if address != tt.want {
			t.Errorf("%s %s: the span names %q, want %q", tt.method, tt.url, address, tt.want)
		}
	}
}
