package sandbox

import (
	"net"
	"os"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/egress"
)

// newProxy makes the proxy of a child whose grant has a network, nil for others.
func (r *Runner) newProxy(c *childProcess) (*egress.Proxy, error) {
	if !r.platform.namespaces || len(c.spawn.Grant.Network.Allow) == 0 {
		return nil, nil
	}
	policy, err := egress.NewPolicy(c.spawn.Grant.Network)
	if err != nil {
		return nil, err
	}
	dial := &egress.DialOptions{Denied: r.denied}
	if n := r.o.Network; n != nil {
		dial.Resolve, dial.Dial, dial.RefuseAddress = n.Resolve, n.Dial, n.RefuseAddress
	}
	proxy, err := egress.NewProxy(policy, dial, &egress.ProxyOptions{Splices: c.spawn.Splices, Logger: r.logger})
	if err != nil {
		return nil, err
	}
	c.proxy = proxy
	c.atEnd(func() { proxy.Close() })
	c.report = append(c.report, func(res *sallyport.ProcessResult) { res.Touched.Hosts = proxy.Uses() })
	return proxy, nil
}

// serveProxy has the proxy accept what the child connects to.
func (h *readyHelper) serveProxy(proxy *egress.Proxy) {
	switch {
	case h.listener == nil:
	case proxy == nil:
		h.listener.Close()
		h.listener = nil
	default:
		go func(l net.Listener) { _ = proxy.Serve(l) }(h.listener)
	}
}

// systemRoots is the file of the system's authorities: Debian, Fedora, Alpine,
// as crypto/x509 looks for it.
func systemRoots() []byte {
	for _, path := range []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
	} {
		if data, err := os.ReadFile(path); err == nil {
			return append(data, '\n')
		}
	}
	return nil
}
