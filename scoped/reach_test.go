package scoped_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/scoped"
	"github.com/sallyport/sallyport/scoped/scopedtest"
)

// TestHostsAndFilesAreBound goes through both large accessors of one scope:
// what they decide in detail is tested beside them.
func TestHostsAndFilesAreBound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
	}))
	defer server.Close()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.txt"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	g := &sallyport.Grant{
		Network: sallyport.NetworkGrant{Allow: []string{"api.example.com"}},
		FS:      sallyport.FSGrant{Read: []string{folder}},
	}
	s := mustScope(t, g, &sallyport.Backends{
		Network: &sallyport.NetworkBackend{
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			},
			Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, server.Listener.Addr().String())
			},
		},
		Files: &sallyport.FileBackend{Home: t.TempDir()},
	})
	if s.Grant() != g {
		t.Error("Grant is not the grant that was compiled")
	}
	c, j := newCall(), &journal{}
	c.Workspace = folder
	binding, err := s.Bind(t.Context(), c, scoped.Turn{}, j.note)
	if err != nil || binding == nil {
		t.Fatalf("Bind = %v, %v, want a binding", binding, err)
	}
	res, err := c.Network.Client().Get("http://api.example.com/")
	if err != nil {
		t.Fatalf("Get = %v", err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "hello" {
		t.Errorf("the host answers %q, %v, want hello", body, err)
	}
	if _, err := c.Network.Client().Get("http://other.example.com/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get of another host = %v, want a refusal", err)
	}
	if data, err := c.FS.ReadFile("a.txt"); err != nil || string(data) != "content" {
		t.Errorf("ReadFile(a.txt) = %q, %v, want content", data, err)
	}
	if _, err := c.FS.ReadFile("/etc/passwd"); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("ReadFile(/etc/passwd) = %v, want a refusal", err)
	}
	if err := c.FS.WriteFile("a.txt", nil); !errors.Is(err, sallyport.ErrPathNotReachable) {
		t.Errorf("WriteFile(a.txt) = %v, want a refusal", err)
	}
	if n := len(j.reasons()); n < 5 {
		t.Errorf("decisions = %q, want one for each access", j.reasons())
	}
}

func TestNewNamesTheGroupThatDoesNotCompile(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		grant sallyport.Grant
		want  string
	}{
		{name: "host", grant: sallyport.Grant{Network: sallyport.NetworkGrant{Allow: []string{"https://example.com"}}}, want: "tool weather: network: "},
		{name: "path", grant: sallyport.Grant{FS: sallyport.FSGrant{Read: []string{"relative"}}}, want: "tool weather: fs_reach: "},
		{name: "recipient", grant: sallyport.Grant{Mail: &sallyport.MailCapability{To: []string{"*"}}}, want: "tool weather: mail: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := scoped.New("weather", &tt.grant, &sallyport.Backends{
				Network: &sallyport.NetworkBackend{}, Files: &sallyport.FileBackend{Home: t.TempDir()}, Mail: &scopedtest.Outbox{},
			})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("New = %v, want an error with %q in front", err, tt.want)
			}
		})
	}
}

func TestRefusedRequestsCloseTheirBody(t *testing.T) {
	t.Parallel()
	c, _, _ := bind(t, &sallyport.Grant{}, nil)
	body := &closing{Reader: strings.NewReader("in")}
	if _, err := c.Network.Client().Post("https://example.com", "text/plain", body); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Post = %v, want a refusal", err)
	}
	if !body.closed {
		t.Error("the body of a refused request stays open")
	}
	if _, err := c.Network.DialContext(t.Context(), "tcp", "no port"); err == nil || err.Error() != "HOST_NOT_ALLOWED: no port is not in the declared allowedHosts" {
		t.Errorf("DialContext without a port = %v, want a refusal", err)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// TestRefusingFilesAnswerExplanations: who explains a grant asks the accessor
// without opening anything.
func TestRefusingFilesAnswerExplanations(t *testing.T) {
	t.Parallel()
	for _, g := range []*sallyport.Grant{
		{},
		{Dropped: []sallyport.Dropped{{Capability: "fs_reach.read", Item: "from-personality"}}},
	} {
		c, _, _ := bind(t, g, nil)
		p, ok := c.FS.(interface {
			Probe(operation, name string) error
		})
		if !ok {
			t.Fatal("a refusing file accessor does not answer Probe")
		}
		if err := p.Probe("read", "a.txt"); !errors.Is(err, sallyport.ErrPathNotReachable) {
			t.Errorf("Probe = %v, want a refusal", err)
		}
		c.Workspace = ""
		if _, err := rebind(t, g, c).FS.ReadFile("a/../b"); err == nil || !strings.HasSuffix(err.Error(), "read not permitted for b") {
			t.Errorf("ReadFile without a workspace = %v, want the cleaned name refused", err)
		}
	}
}

// rebind binds a call that a test has prepared.
func rebind(t *testing.T, g *sallyport.Grant, c *sallyport.Call) *sallyport.Call {
	t.Helper()
	if _, err := mustScope(t, g, nil).Bind(t.Context(), c, scoped.Turn{}, nil); err != nil {
		t.Fatal(err)
	}
	return c
}
