package scopedtest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/reach"
)

// NewNetwork returns a network for the backends of a registry on which the
// handlers are the only hosts, by name or name:port as in [Options.Hosts]. They
// speak https on every port but 80, with a certificate that the network trusts.
//
// The gate decides about their names and addresses, which are public ones, as it
// does about those of real hosts: grant, deny list, floor and redirects hold. No
// packet leaves the process. The hosts end with the test.
func NewNetwork(t TB, hosts map[string]http.Handler) *sallyport.NetworkBackend {
	t.Helper()
	n := &hostNetwork{addresses: map[string]netip.Addr{}, servers: map[netip.AddrPort]*hostServer{}}
	// These are public addresses, which the floor lets pass.
	next := netip.MustParseAddr("93.184.216.1")
	for _, key := range slices.Sorted(maps.Keys(hosts)) {
		name, port, err := reach.SplitHostPort(key)
		failOn(t, err)
		if _, err := netip.ParseAddr(name); err == nil {
			t.Fatalf("scopedtest: host %s: expected a name, found an address", key)
		}
		if _, ok := n.addresses[name]; !ok {
			n.addresses[name], next = next, next.Next()
		}
		s := newHostServer(hosts[key])
		t.Cleanup(s.close)
		// Port 0 stands for every port without an entry of its own.
		n.servers[netip.AddrPortFrom(n.addresses[name], port)] = s
	}
	var roots *x509.CertPool
	var err error
	n.certificate, roots, err = newCertificate(slices.Collect(maps.Keys(n.addresses)))
	failOn(t, err)
	return &sallyport.NetworkBackend{Resolve: n.resolveHost, Dial: n.dialHost, RootCAs: roots}
}

// hostNetwork is a network in memory. It does not change.
type hostNetwork struct {
	addresses   map[string]netip.Addr
	servers     map[netip.AddrPort]*hostServer
	certificate tls.Certificate
}

func (n *hostNetwork) resolveHost(_ context.Context, host string) ([]netip.Addr, error) {
	if a, ok := n.addresses[host]; ok {
		return []netip.Addr{a}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (n *hostNetwork) dialHost(ctx context.Context, network string, addr netip.AddrPort) (net.Conn, error) {
	s, ok := n.servers[addr]
	if !ok {
		s, ok = n.servers[netip.AddrPortFrom(addr.Addr(), 0)]
	}
	refused := &net.OpError{Op: "dial", Net: network, Addr: net.TCPAddrFromAddrPort(addr), Err: net.ErrClosed}
	if !ok {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	if addr.Port() != 80 {
		theirs = tls.Server(theirs, &tls.Config{Certificates: []tls.Certificate{n.certificate}})
	}
	select {
	case s.conns <- theirs:
		return ours, nil
	case <-s.ended:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// hostServer answers the connections of one host. It is their listener.
type hostServer struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
	http  http.Server
	done  sync.WaitGroup
}

func newHostServer(h http.Handler) *hostServer {
	s := &hostServer{conns: make(chan net.Conn), ended: make(chan struct{})}
	// What a client does to a connection is no matter of the test's output.
	s.http.Handler, s.http.ErrorLog = h, log.New(io.Discard, "", 0)
	s.done.Go(func() { _ = s.http.Serve(s) })
	return s
}

func (s *hostServer) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.ended:
		return nil, net.ErrClosed
	}
}

func (s *hostServer) Close() error   { s.once.Do(func() { close(s.ended) }); return nil }
func (s *hostServer) Addr() net.Addr { return &net.TCPAddr{} }

// close ends the server and its connections.
func (s *hostServer) close() {
	_ = s.Close()
	_ = s.http.Close()
	s.done.Wait()
}

// newCertificate returns a certificate for the names, and the pool that trusts
// it and nothing else.
func newCertificate(names []string) (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	// It is valid at any time, since a test may set its own clock.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: names,
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, roots, nil
}
