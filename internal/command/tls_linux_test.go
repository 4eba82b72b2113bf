package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/internal/app"
)

// authority signs the certificates of a test.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key}
}

func (a *authority) pem() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw}))
}

// issue returns a certificate and its key, for the server and for clients.
func (a *authority) issue(t *testing.T, name string, serial int64) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))
}

// TestServeSpeaksTLS serves with a certificate: HTTP/2, a token, certificates of clients
// as principals, and another certificate once the files change.
func TestServeSpeaksTLS(t *testing.T) {
	t.Parallel()
	dir, own, foreign := folder(t), newAuthority(t), newAuthority(t)
	cert, key := own.issue(t, "gate", 100)
	if err := os.Mkdir(filepath.Join(dir, "tls"), 0o700); err != nil {
		t.Fatal(err)
	}
	place(t, dir, "tls/cert.pem", cert)
	place(t, dir, "tls/key.pem", key)
	place(t, dir, "tls/clients.pem", own.pem())
	place(t, dir, app.ConfigName, configText(t, dir)+"tls: {cert: tls/cert.pem, key: tls/key.pem, client_ca: tls/clients.pem}\nprincipals: {ci: {personalities: [default]}}\n")
	s := serveHTTP(t, dir)
	at := strings.Replace(strings.TrimPrefix(s.url, "https://"), "127.0.0.1", "localhost", 1)
	if !strings.HasPrefix(s.url, "https://") {
		t.Fatalf("serve announces %s", s.url)
	}
	if out := say(dir, "page"); !strings.HasPrefix(out, "https://") {
		t.Errorf("the link to the page is %s", out)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(own.pem()))
	ask := func(token string, client ...string) (*http.Response, error) {
		c := &tls.Config{RootCAs: roots}
		if len(client) > 0 {
			pair, err := tls.X509KeyPair([]byte(client[0]), []byte(client[1]))
			if err != nil {
				t.Fatal(err)
			}
			c.Certificates = []tls.Certificate{pair}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at+"/v1/actions", nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		way := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
		defer way.CloseIdleConnections()
		res, err := (&http.Client{Transport: way}).Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		return res, err
	}
	want := func(name string, status int, token string, client ...string) {
		t.Helper()
		res, err := ask(token, client...)
		if err != nil || res.StatusCode != status {
			t.Errorf("%s = %v %v, want %d", name, res, err, status)
			return
		}
		if res.ProtoMajor != 2 {
			t.Errorf("%s is answered over %s, want HTTP/2", name, res.Proto)
		}
	}
	ciCert, ciKey := own.issue(t, "ci", 2)
	localCert, localKey := own.issue(t, "local", 3)
	otherCert, otherKey := own.issue(t, "another", 4)
	forged, forgedKey := foreign.issue(t, "ci", 5)
	want("a token", 200, s.token)
	want("nothing", 401, "")
	want("a certificate of a principal", 200, "", ciCert, ciKey)
	want("a certificate of a principal and a wrong token", 401, "wrong", ciCert, ciKey)
	want("a certificate of the local user", 401, "", localCert, localKey)
	want("a certificate of no principal", 401, "", otherCert, otherKey)
	if res, err := ask("", forged, forgedKey); err == nil {
		t.Errorf("a certificate of another authority = %d, want no connection", res.StatusCode)
	}
	// A connection outlives the authority that vouched for its certificate, and what it
	// asks from then on is refused.
	pair, err := tls.X509KeyPair([]byte(ciCert), []byte(ciKey))
	if err != nil {
		t.Fatal(err)
	}
	kept := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}, ForceAttemptHTTP2: true}}
	askAgain := func() int {
		res, err := kept.Get("https://" + at + "/v1/actions")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return res.StatusCode
	}
	if got := askAgain(); got != 200 {
		t.Fatalf("a kept connection = %d, want 200", got)
	}
	place(t, dir, "tls/clients.pem", foreign.pem())
	for began := time.Now(); askAgain() != 401; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("a kept connection goes on after its authority is gone")
		}
	}
	if res, err := http.Get("http://" + at + "/healthz"); err == nil && res.StatusCode == 200 {
		t.Error("plain HTTP is answered")
	}
	// Half a change leaves the old certificate in force; the whole one takes effect.
	serial := func() int64 {
		res, err := ask(s.token)
		if err != nil {
			t.Fatal(err)
		}
		return res.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	newCert, newKey := own.issue(t, "gate", 200)
	place(t, dir, "tls/cert.pem", newCert)
	time.Sleep(1100 * time.Millisecond)
	if n := serial(); n != 100 {
		t.Errorf("half a change serves the certificate %d, want 100", n)
	}
	place(t, dir, "tls/key.pem", newKey)
	for began := time.Now(); serial() != 200; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatal("the new certificate is not in force")
		}
	}
	s.stop(t)
	place(t, dir, "tls/cert.pem", "nothing")
	out, err := sallyportCommand(dir, "serve", "--listen", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "tls.cert and tls.key") {
		t.Errorf("serve with a bad certificate = %v %s", err, out)
	}
	// No tool reads the key.
	place(t, dir, "tls/cert.pem", newCert)
	out, _ = sallyportCommand(dir, "call", "read_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(dir, "tls/key.pem"))).CombinedOutput()
	if strings.Contains(string(out), "PRIVATE KEY") {
		t.Errorf("a tool reads the key: %s", out)
	}
}
