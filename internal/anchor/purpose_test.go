package anchor

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/digitorus/timestamp"
)

// signer is a certificate with its key.
type signer struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// newSigner returns a root for a nil parent, and else a leaf with an extension of its
// purposes; nil for none.
func newSigner(t *testing.T, parent *signer, purposes *pkix.Extension) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	c := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "leaf"}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0), KeyUsage: x509.KeyUsageDigitalSignature}
	if purposes != nil {
		c.ExtraExtensions = []pkix.Extension{*purposes}
	}
	if parent == nil {
		c.Subject.CommonName, c.IsCA, c.BasicConstraintsValid, c.KeyUsage = "root", true, true, x509.KeyUsageCertSign
		parent = &signer{c, key}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent.Certificate, &key.PublicKey, parent.key)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return &signer{c, key}
}

// An ordinary certificate of the same root puts no time under a head.
func TestACertificateIsForTimestampsAlone(t *testing.T) {
	t.Parallel()
	stamping, server := asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 8}, asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 1}
	root := newSigner(t, nil, nil)
	roots := x509.NewCertPool()
	roots.AddCert(root.Certificate)
	for name, tt := range map[string]struct {
		purposes []asn1.ObjectIdentifier
		critical bool
		ok       bool
	}{
		"for timestamps":     {[]asn1.ObjectIdentifier{stamping}, true, true},
		"for nothing named":  {nil, false, false},
		"for TLS, too":       {[]asn1.ObjectIdentifier{stamping, server}, true, false},
		"for something else": {[]asn1.ObjectIdentifier{stamping, {1, 2, 3}}, true, false},
		"not critical":       {[]asn1.ObjectIdentifier{stamping}, false, false},
		"for TLS":            {[]asn1.ObjectIdentifier{server}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var purposes *pkix.Extension
			if tt.purposes != nil {
				value, err := asn1.Marshal(tt.purposes)
				if err != nil {
					t.Fatal(err)
				}
				purposes = &pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: tt.critical, Value: value}
			}
			leaf := newSigner(t, root, purposes)
			path, c := filepath.Join(t.TempDir(), "anchors.jsonl"), newChain(t, newKey(t, 1), "a")
			e := c.anchor(t, path)
			sum := sha256.Sum256(e.StampedText())
			stamp := timestamp.Timestamp{HashAlgorithm: crypto.SHA256, HashedMessage: sum[:], Time: time.Now(), Policy: asn1.ObjectIdentifier{1, 2, 3}, AddTSACertificate: true}
			answer, err := stamp.CreateResponseWithOpts(leaf.Certificate, leaf.key, crypto.SHA256)
			if err == nil {
				err = os.Mkdir(StampFolder(path), 0o700)
			}
			if err == nil {
				err = os.WriteFile(stampPath(path, e.Seq), answer, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := c.compareStamped(t, path, roots); r.OK() != tt.ok || !tt.ok && !strings.Contains(r.Bad.Why, "not believed") {
				t.Errorf("the result is %s, want it good: %v", &r, tt.ok)
			}
		})
	}
}
