package gateway_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall is one call of a trivial tool by a client in this process,
// with no durable record: what the protocol costs on each surface. Allocations
// are those of client and server together.
func BenchmarkCall(b *testing.B) {
	b.Run("stdio", func(b *testing.B) {
		s, _ := newKit(b).stdio(b)
		r := bufio.NewReader(s.out)
		exchange := func(line string) {
			if _, err := io.WriteString(s.in, line); err != nil {
				b.Fatal(err)
			}
			if answer, err := r.ReadString('\n'); err != nil || strings.Contains(answer, "isError") {
				b.Fatal(answer, err)
			}
		}
		exchange(hello)
		b.ReportAllocs()
		for b.Loop() {
			exchange(callLine(1, "echo", `{"a":1,"b":"two","c":[3]}`))
		}
	})
	for _, version := range versions[:2] {
		b.Run("http-"+version, func(b *testing.B) {
			site := newKit(b).site(b)
			transport := &mcp.StreamableClientTransport{
				Endpoint: site.URL + "/mcp", HTTPClient: client(b, "alice"), DisableStandaloneSSE: true,
			}
			c := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
			session, err := c.Connect(b.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				b.Fatal(err)
			}
			defer session.Close()
			b.ReportAllocs()
			for b.Loop() {
				res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"a": 1, "b": "two", "c": []int{3}}})
				if err != nil || res.IsError {
					b.Fatal(res, err)
				}
			}
		})
	}
}

// BenchmarkRefusedRequest is a request without a session, which costs no more
// than reading it.
func BenchmarkRefusedRequest(b *testing.B) {
	site := newKit(b).site(b)
	h := client(b, "alice")
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, site.URL+"/mcp", strings.NewReader(callLine(1, "echo", `{}`)))
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		res, err := h.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusBadRequest {
			b.Fatal(res.StatusCode, err)
		}
		res.Body.Close()
	}
}
