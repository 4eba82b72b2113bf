package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/serverlist"
)

const (
	// outsideWait bounds one exchange with a place of the record, and a handshake.
	outsideWait = 15 * time.Second
	// outsideHeader bounds the header of an answer, outsideIdle the life of an idle
	// connection.
	outsideHeader, outsideIdle = 64 << 10, time.Minute
)

// outside reaches the places that the operator names for the record.
type outside struct {
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	roots  *x509.CertPool // nil for those of the system
	client *http.Client
}

// openOutside returns the way to the places for the record. It uses no proxy of the
// environment and follows no redirect.
func (rt *Runtime) openOutside() (*outside, error) {
	own := cmp.Or(rt.Listeners, serverlist.NewListeners(rt.Env.serverFolder(), rt.Logger))
	o := &outside{dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		return rt.dialExceptOwn(ctx, own, network, address)
	}}
	if file := rt.InForce().Config.Audit.CA; file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("audit.ca: %s: %w", file, fsx.Cause(err))
		}
		if o.roots = x509.NewCertPool(); !o.roots.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("audit.ca: %s has no certificate in PEM", file)
		}
	}
	o.client = &http.Client{
		Timeout: outsideWait,
		Transport: &http.Transport{
			DialContext: o.dial, TLSClientConfig: o.tlsConfig(), TLSHandshakeTimeout: outsideWait, ForceAttemptHTTP2: true,
			MaxIdleConns: 4, IdleConnTimeout: outsideIdle, MaxResponseHeaderBytes: outsideHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("redirects are not followed") },
	}
	return o, nil
}

// tlsConfig returns how a place proves who it is.
func (o *outside) tlsConfig() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.roots}
}

// Close closes idle connections.
func (o *outside) Close() { o.client.CloseIdleConnections() }
