package egress

import (
	"crypto/x509"
	"testing"
	"time"
)

// TestAuthorityIsConstrained: the key of a run is worth nothing for others.
func TestAuthorityIsConstrained(t *testing.T) {
	t.Parallel()
	tests := []struct {
		patterns []string
		good     []string
		bad      []string
	}{
		{[]string{"a.example"}, []string{"a.example"}, []string{"b.example", "93.184.215.14", "2606:4700::1111"}},
		{[]string{"*.a.example:8443"}, []string{"x.a.example", "y.x.a.example"}, []string{"xa.example", "example"}},
		{[]string{"93.184.215.14"}, []string{"93.184.215.14"}, []string{"93.184.215.15", "a.example"}},
		{[]string{"[2606:4700::1111]:8443", "a.example"}, []string{"2606:4700::1111", "a.example"}, []string{"2606:4700::1112", "b.example"}},
		{[]string{"*"}, []string{"a.example", "93.184.215.14"}, nil},
	}
	for _, tt := range tests {
		a, err := newCertAuthority(tt.patterns)
		if err != nil {
			t.Fatal(err)
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(a.pem)
		check := func(host string) error {
			c, err := a.certificateFor(host)
			if err != nil {
				return err
			}
			leaf, err := x509.ParseCertificate(c.Certificate[0])
			if err != nil {
				return err
			}
			if d := time.Until(leaf.NotAfter); d > authorityLife || d < authorityLife-time.Hour {
				t.Errorf("the certificate is valid for %s", d)
			}
			_, err = leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots})
			return err
		}
		for _, host := range tt.good {
			if err := check(host); err != nil {
				t.Errorf("%v: certificate for %s = %v", tt.patterns, host, err)
			}
		}
		for _, host := range tt.bad {
			if err := check(host); err == nil {
				t.Errorf("%v: certificate for %s is good", tt.patterns, host)
			}
		}
	}
}
