package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/sallyport/sallyport"
)

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		g := sallyport.NetworkGrant{}
		for i := range n {
			g.Allow = append(g.Allow, "host"+strconv.Itoa(i)+".example.com")
		}
		p, err := NewPolicy(g)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Decide("host0.example.com", 443); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFloor(b *testing.B) {
	for _, a := range addrs("93.184.215.14", "2606:4700::1111") {
		b.Run(a.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Floor(a, false)
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := New(allow("api.example.com", "*.example.org"), nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFetch compares a fetch over a kept connection on loopback with
// that of a bare client.
func BenchmarkFetch(b *testing.B) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }))
	defer srv.Close()
	c, err := New(sallyport.NetworkGrant{Allow: []string{srv.Listener.Addr().String()}, AllowPrivate: true}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for _, bc := range []struct {
		name   string
		client func() *http.Client
	}{
		{"bare", srv.Client},
		{"guarded", func() *http.Client { return bind(c, nil) }},
	} {
		b.Run(bc.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp, err := bc.client().Get(srv.URL)
				if err != nil {
					b.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
		})
	}
}
