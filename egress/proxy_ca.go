package egress

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	// authorityLife is how long certificates of a run are good for. A child
	// that runs longer loses the hosts of its splices, not its secrets.
	authorityLife = 24 * time.Hour
	// authoritySkew lets a child's clock be behind.
	authoritySkew = time.Hour
	// maxLeaves bounds the certificates that are kept.
	maxLeaves = 256
)

// certAuthority signs for the hosts of splices. Its keys never leave memory.
type certAuthority struct {
	key, leafKey *ecdsa.PrivateKey
	cert         *x509.Certificate
	pem          []byte

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

// newCertAuthority makes an authority that can speak for hosts matching the
// patterns and, where they can be written as constraints, for no others.
func newCertAuthority(patterns []string) (*certAuthority, error) {
	a := &certAuthority{leaves: map[string]*tls.Certificate{}}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("authority of the run: %w", err)
	}
	if a.leafKey, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, fmt.Errorf("authority of the run: %w", err)
	}
	now := time.Now()
	tmpl := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "Sallyport, authority of one run"},
		NotBefore: now.Add(-authoritySkew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	constrainHosts(tmpl, patterns)
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("authority of the run: %w", err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("authority of the run: %w", err)
	}
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a, nil
}

// constrainHosts names the hosts in the certificate (RFC 5280, section 4.2.1.10),
// so that the key is worth nothing for others. A constraint covers the names
// below it too, which is wider than a pattern; the proxy asks the pattern.
func constrainHosts(c *x509.Certificate, patterns []string) {
	for _, p := range patterns {
		host := strings.TrimPrefix(p, "*.")
		if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
			host = host[:i]
		}
		host = strings.Trim(host, "[]")
		if host == "*" {
			c.PermittedDNSDomains, c.PermittedIPRanges = nil, nil
			return
		}
		if a, err := netip.ParseAddr(host); err == nil {
			c.PermittedIPRanges = append(c.PermittedIPRanges, ipNet(a, a.BitLen()))
		} else {
			c.PermittedDNSDomains = append(c.PermittedDNSDomains, host)
		}
	}
	c.PermittedDNSDomainsCritical = true
	// A kind of name without a constraint would be free.
	if len(c.PermittedIPRanges) == 0 {
		c.ExcludedIPRanges = []*net.IPNet{ipNet(netip.IPv4Unspecified(), 0), ipNet(netip.IPv6Unspecified(), 0)}
	}
	if len(c.PermittedDNSDomains) == 0 {
		c.PermittedDNSDomains = []string{"invalid"} // RFC 6761: never a host
	}
}

func ipNet(a netip.Addr, bits int) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, a.BitLen())}
}

func (a *certAuthority) certificateFor(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.leaves[host]; c != nil {
		return c, nil
	}
	tmpl := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "Sallyport"},
		NotBefore: a.cert.NotBefore, NotAfter: a.cert.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip, ok := parseLiteral(host); ok {
		tmpl.IPAddresses = []net.IP{ip.AsSlice()}
	} else {
		tmpl.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &a.leafKey.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("certificate for %s: %w", host, err)
	}
	if len(a.leaves) >= maxLeaves {
		clear(a.leaves)
	}
	c := &tls.Certificate{Certificate: [][]byte{der, a.cert.Raw}, PrivateKey: a.leafKey}
	a.leaves[host] = c
	return c, nil
}

// newSerial returns a number as RFC 5280, section 4.1.2.2, wants it: positive,
// at most 20 octets, and not to be guessed.
func newSerial() *big.Int {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	b[0] = b[0]&0x7f | 1
	return new(big.Int).SetBytes(b)
}
