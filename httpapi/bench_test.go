package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
)

const benchBody = `{"params":{"a":1,"b":"two","c":[3]}}`

// BenchmarkExecute is one call of a trivial tool without a durable record,
// next to a handler that only reads the body and writes an answer of the same
// size: over loopback with a client in this process, and the handlers alone.
func BenchmarkExecute(b *testing.B) {
	k := newKit(b, nil)
	answer := k.execute("echo", benchBody).text
	plain := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			b.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	})
	bare := httptest.NewServer(plain)
	defer bare.Close()
	b.Run("loopback/plain", func(b *testing.B) { exchange(b, bare.Client(), bare.URL) })
	b.Run("loopback/gated", func(b *testing.B) {
		exchange(b, k.site.Client(), k.site.URL+"/v1/actions/echo/execute")
	})
	b.Run("handler/plain", func(b *testing.B) { handle(b, bare.URL, plain) })
	b.Run("handler/gated", func(b *testing.B) { handle(b, k.site.URL, k.site.Config.Handler) })
	b.Run("gate", func(b *testing.B) {
		b.ReportAllocs()
		caller := &sallyport.Caller{Principal: k.tokens["alice"], Personality: "default"}
		for b.Loop() {
			if res := k.registry.Call(b.Context(), caller, sallyport.Request{Tool: "echo", Args: []byte(`{"a":1,"b":"two","c":[3]}`)}); !res.OK {
				b.Fatal(res)
			}
		}
	})
}

// exchange sends calls over a connection that is kept.
func exchange(b *testing.B, c *http.Client, url string) {
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(benchBody))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		res, err := c.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
			b.Fatal(res.StatusCode, err)
		}
		res.Body.Close()
	}
}

// handle calls a handler without a connection.
func handle(b *testing.B, address string, h http.Handler) {
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodPost, address+"/v1/actions/echo/execute", strings.NewReader(benchBody))
		r.Header.Set("Authorization", "Bearer alice")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != 200 {
			b.Fatal(w.Code, w.Body)
		}
	}
}

// BenchmarkDocument is the OpenAPI document of the tools of this test.
func BenchmarkDocument(b *testing.B) {
	k := newKit(b, nil)
	b.ReportAllocs()
	for b.Loop() {
		k.document("alice")
	}
}
