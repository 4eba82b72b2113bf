package scoped

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport"
)

// loopback is a backend whose every address leads to one server on loopback.
func loopback(srv *httptest.Server, answer string) *sallyport.NetworkBackend {
	return &sallyport.NetworkBackend{
		Resolve: func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr(answer)}, nil
		},
		Dial: func(ctx context.Context, network string, _ netip.AddrPort) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, srv.Listener.Addr().String())
		},
	}
}

func serveOK(t testing.TB) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	t.Cleanup(srv.Close)
	return srv
}

func mustNetwork(t testing.TB, g sallyport.NetworkGrant, b *sallyport.NetworkBackend) *networkReach {
	t.Helper()
	n, err := newNetworkReach(g, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.closeClient)
	return n
}

// fetch sends a GET and throws the body away.
func fetch(t testing.TB, c *http.Client, url string) error {
	t.Helper()
	resp, err := c.Get(url)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func TestNetworkNotesEachDecision(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"a.example", "b.example:8080"}}, loopback(serveOK(t), "93.184.215.14"))
	var got []sallyport.Decision
	a := n.bindCall(t.Context(), func(d sallyport.Decision) { got = append(got, d) })
	c := a.Client()
	for _, url := range []string{"http://a.example/1", "http://A.example./2", "http://b.example:8080/"} {
		if err := fetch(t, c, url); err != nil {
			t.Errorf("Get(%s) = %v", url, err)
		}
	}
	if err := fetch(t, c, "http://c.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get(c.example) = %v, want ErrHostNotAllowed", err)
	}
	if _, err := a.DialContext(t.Context(), "tcp", "169.254.169.254:80"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("DialContext(metadata) = %v, want ErrHostNotAllowed", err)
	}
	want := []sallyport.Decision{
		{Step: sallyport.StepAccess, Allowed: true, Capability: "network", Resource: "a.example", Why: "dial a.example"},
		{Step: sallyport.StepAccess, Allowed: true, Capability: "network", Resource: "b.example:8080", Why: "dial b.example:8080"},
		{
			Step: sallyport.StepAccess, Capability: "network", Resource: "c.example",
			Why: "HOST_NOT_ALLOWED: c.example is not in the declared allowedHosts",
		},
		{
			Step: sallyport.StepAccess, Capability: "network", Resource: "169.254.169.254",
			Why: "HOST_NOT_ALLOWED: 169.254.169.254 is a cloud metadata address", Source: "always-deny floor",
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

func TestNetworkRefusalNamesTheAddressToTheOperatorOnly(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"a.example"}}, loopback(serveOK(t), "10.1.2.3"))
	var got []sallyport.Decision
	err := fetch(t, n.bindCall(t.Context(), func(d sallyport.Decision) { got = append(got, d) }).Client(), "http://a.example/")
	e, _ := errors.AsType[*sallyport.Error](err)
	if want := "HOST_NOT_ALLOWED: a.example resolves to a private address (RFC 1918)"; e.Error() != want {
		t.Errorf("error = %v, want %s", e, want)
	}
	want := []sallyport.Decision{{
		Step: sallyport.StepAccess, Capability: "network", Resource: "a.example", Source: "always-deny floor",
		Why: "HOST_NOT_ALLOWED: a.example resolves to a private address (RFC 1918) (a.example has the address 10.1.2.3)",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if got, want := sallyport.ErrorResult(err).Error, e.Error(); got != want {
		t.Errorf("ErrorResult = %q, want %q: the text begins with the code through net/http's error", got, want)
	}
}

func TestNetworkWithoutObserver(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"a.example"}}, loopback(serveOK(t), "93.184.215.14"))
	c := n.bindCall(t.Context(), nil).Client()
	if err := fetch(t, c, "http://a.example/"); err != nil {
		t.Errorf("Get(a.example) = %v", err)
	}
	if err := fetch(t, c, "http://b.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get(b.example) = %v, want ErrHostNotAllowed", err)
	}
}

func TestNetworkWithoutBackendRefuses(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"*"}}, nil)
	if err := fetch(t, n.bindCall(t.Context(), nil).Client(), "http://a.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get without a backend = %v, want ErrHostNotAllowed", err)
	}
}

func TestNetworkClosedBeforeUseRefuses(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"a.example"}}, loopback(serveOK(t), "93.184.215.14"))
	n.closeClient()
	if err := fetch(t, n.bindCall(t.Context(), nil).Client(), "http://a.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
		t.Errorf("Get after close = %v, want ErrHostNotAllowed", err)
	}
}

func TestNetworkRefusesBrokenGrant(t *testing.T) {
	t.Parallel()
	for _, g := range []sallyport.NetworkGrant{{Allow: []string{""}}, {Deny: []string{"https://a.b"}}} {
		if _, err := newNetworkReach(g, &sallyport.NetworkBackend{}); err == nil {
			t.Errorf("newNetwork(%+v) = nil, want an error", g)
		}
	}
	for _, b := range []*sallyport.NetworkBackend{{MaxResponseBytes: -1}, {Timeout: -1}} {
		if _, err := newNetworkReach(sallyport.NetworkGrant{}, b); err == nil {
			t.Errorf("newNetwork(%+v) = nil, want an error", b)
		}
	}
}

func TestNetworkNotesAreBoundedAndSerial(t *testing.T) {
	t.Parallel()
	n := mustNetwork(t, sallyport.NetworkGrant{}, loopback(serveOK(t), "93.184.215.14"))
	count := 0 // unguarded on purpose: bind promises one caller at a time
	c := n.bindCall(t.Context(), func(sallyport.Decision) { count++ }).Client()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range maxNotes {
				if err := fetch(t, c, "http://a.example/"); !errors.Is(err, sallyport.ErrHostNotAllowed) {
					t.Errorf("Get = %v, want ErrHostNotAllowed", err)
				}
			}
		})
	}
	wg.Wait()
	if count != maxNotes {
		t.Errorf("%d notes, want %d", count, maxNotes)
	}
}

func TestNetworkBindIsCheap(t *testing.T) {
	n := mustNetwork(t, sallyport.NetworkGrant{Allow: []string{"a.example"}}, &sallyport.NetworkBackend{})
	note := func(sallyport.Decision) {}
	if got := testing.AllocsPerRun(100, func() { n.bindCall(t.Context(), note) }); got > 1 {
		t.Errorf("bind allocates %v times, want at most 1", got)
	}
}
