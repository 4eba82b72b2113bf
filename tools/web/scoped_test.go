package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
	"github.com/sallyport/sallyport/scoped/scopedtest"
	"github.com/sallyport/sallyport/tools/web"
)

// TestAccessors runs fetch_url on the accessors that a gate hands out.
func TestAccessors(t *testing.T) {
	tl := web.Tools()[0]
	site := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<p>Hello"))
	})
	caps := sallyport.Capabilities{Network: &sallyport.NetworkCapability{AllowedHosts: []string{"site.example"}}}
	tests := []struct{ name, url, want string }{
		{"granted", "https://site.example/", "[https://site.example/] 200 text/html\n\nHello"},
		{"not granted", "https://other.example/", "HOST_NOT_ALLOWED: other.example "},
		{"redirect out of the grant", "https://site.example/away", "HOST_NOT_ALLOWED: elsewhere.example "},
		{"other scheme", "file:///etc/passwd", "HOST_NOT_ALLOWED: "},
		{"other scheme with a host", "ftp://site.example/x", "HOST_NOT_ALLOWED: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, err := json.Marshal(map[string]string{"url": tt.url})
			if err != nil {
				t.Fatal(err)
			}
			c := scopedtest.NewCall(t, &scopedtest.Options{
				Tool: tl.Name, Capabilities: caps, Args: args, Hosts: map[string]http.Handler{"site.example": site},
			})
			r, err := tl.Run(t.Context(), c)
			if err != nil {
				r = sallyport.ErrorResult(err)
			}
			if got := r.Value + r.Error; !strings.HasPrefix(got, tt.want) {
				t.Errorf("fetch_url(%s) = %q, want it to begin with %q", tt.url, got, tt.want)
			}
		})
	}
}

// BenchmarkTools makes the tools, which a program does at its start.
func BenchmarkTools(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		web.Tools()
	}
}

// TestEgress runs fetch_url over the client that obeys grants in production,
// with its names resolved here and its connections made to a local server.
func TestEgress(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("hello from " + r.Host))
	}))
	defer srv.Close()
	client, err := egress.New(sallyport.NetworkGrant{Allow: []string{"*"}, Deny: []string{"denied.example"}, ReadOnly: true}, &egress.Options{
		DialOptions: egress.DialOptions{
			Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
				switch host {
				case "inside.example":
					return []netip.Addr{netip.MustParseAddr("10.0.0.1")}, nil
				case "site.example":
					return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
				default:
					return nil, errors.New("lookup on 10.1.2.3:53: no such host")
				}
			},
			Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, srv.Listener.Addr().String())
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	tests := []struct{ name, url, want string }{
		{"public", "http://site.example/x", "[http://site.example/x] 200 text/plain\n\nhello from site.example"},
		{"denied", "http://denied.example/", "HOST_NOT_ALLOWED: denied.example "},
		{"private address", "http://inside.example/", "HOST_NOT_ALLOWED: inside.example "},
		{"metadata address", "http://169.254.169.254/", "HOST_NOT_ALLOWED: 169.254.169.254 "},
		{"redirect to the metadata address", "http://site.example/away", "HOST_NOT_ALLOWED: 169.254.169.254 "},
		{"unknown name", "http://nowhere.example/", "nowhere.example could not be resolved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			binding := client.Bind(nil)
			args, err := json.Marshal(map[string]string{"url": tt.url})
			if err != nil {
				t.Fatal(err)
			}
			c := &sallyport.Call{Network: &binding, Args: args, Emit: func(sallyport.Progress) {}}
			r, err := web.Tools()[0].Run(t.Context(), c)
			if err != nil {
				r = sallyport.ErrorResult(err)
			}
			if got := r.Value + r.Error; !strings.HasPrefix(got, tt.want) || strings.Contains(got, "10.1.2.3") {
				t.Errorf("fetch_url(%s) = %q, want it to begin with %q", tt.url, got, tt.want)
			}
		})
	}
}
