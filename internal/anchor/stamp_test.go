package anchor

import (
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport/sallyport/audit"
	"github.com/sallyport/sallyport/internal/fsx"
	"github.com/sallyport/sallyport/internal/needs"
)

// authority is an authority of RFC 3161 by OpenSSL.
type authority struct {
	*httptest.Server
	dir   string
	roots *x509.CertPool
	// answer is given in place of its own; nil for none.
	answer []byte
}

const authoritySettings = `[tsa]
default_tsa = c
[c]
serial = $dir/serial
crypto_device = builtin
signer_cert = $dir/tsa.pem
certs = $dir/tsa.pem
signer_key = $dir/tsa.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256
ess_cert_id_alg = sha256
`

func newAuthority(t *testing.T) *authority {
	t.Helper()
	needs.Programs(t, "openssl")
	a := &authority{dir: t.TempDir(), roots: x509.NewCertPool()}
	a.write(t, "tsa.cnf", "dir = "+a.dir+"\n"+authoritySettings)
	a.write(t, "serial", "01\n")
	a.write(t, "ext.cnf", "extendedKeyUsage = critical,timeStamping\n")
	a.openssl(t, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Test CA", "-days", "2")
	a.openssl(t, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", "/CN=Test TSA")
	a.openssl(t, "x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "tsa.pem", "-days", "2", "-extfile", "ext.cnf")
	ca, err := os.ReadFile(filepath.Join(a.dir, "ca.pem"))
	if err != nil || !a.roots.AppendCertsFromPEM(ca) {
		t.Fatal(err)
	}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if a.answer != nil {
			_, _ = w.Write(a.answer)
			return
		}
		a.write(t, "q.tsq", string(body))
		a.openssl(t, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "q.tsq", "-out", "r.tsr")
		answer, _ := os.ReadFile(filepath.Join(a.dir, "r.tsr"))
		_, _ = w.Write(answer)
	}))
	t.Cleanup(a.Close)
	return a
}

func (a *authority) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

func (a *authority) openssl(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("openssl", args...)
	cmd.Dir = a.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("openssl %v: %v\n%s", args, err, out)
	}
}

func (c chain) compareStamped(t *testing.T, path string, roots *x509.CertPool) Result {
	t.Helper()
	entries, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := NewCheck(entries, c.key.ID())
	if err := check.AddStamps(path, roots); err != nil {
		t.Fatal(err)
	}
	report, err := audit.Verify(t.Context(), check.Watch(c.Store), c.key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return check.Compare(&report)
}

func TestAnAuthorityPutsItsTimeUnderAHead(t *testing.T) {
	t.Parallel()
	a, path := newAuthority(t), filepath.Join(t.TempDir(), "anchors.jsonl")
	c := newChain(t, newKey(t, 1), "a")
	e := c.anchor(t, path)
	if err := StampHead(t.Context(), a.Client(), a.URL, path, e); err != nil {
		t.Fatal(err)
	}
	c.add(t, "b")
	if r := c.compareStamped(t, path, a.roots); !r.OK() || r.Stamps != 1 {
		t.Errorf("the result is %s", &r)
	}
	// Other programs check the answer by what audit head prints.
	a.write(t, "head", string(e.StampedText()))
	a.openssl(t, "ts", "-verify", "-data", "head", "-in", stampPath(path, e.Seq), "-CAfile", "ca.pem")
	if r := c.compareStamped(t, path, x509.NewCertPool()); r.OK() || !strings.Contains(r.Bad.Why, "not believed") {
		t.Errorf("an authority that is not in the pool: %s", &r)
	}
	// An answer of before is not one for another head, nor for another request.
	var err error
	if a.answer, err = os.ReadFile(stampPath(path, e.Seq)); err != nil {
		t.Fatal(err)
	}
	next := c.anchor(t, path)
	if err := StampHead(t.Context(), a.Client(), a.URL, path, next); err == nil || !strings.Contains(err.Error(), "another head") {
		t.Errorf("an answer for another head: %v", err)
	}
	if err := StampHead(t.Context(), a.Client(), a.URL, path+"2", e); err == nil || !strings.Contains(err.Error(), "another request") {
		t.Errorf("an answer of before: %v", err)
	}
	// What is no answer for the head gives way to one.
	for _, broken := range [][]byte{[]byte("x"), a.answer, nil} {
		if err := os.WriteFile(stampPath(path, next.Seq), broken, 0o600); err != nil {
			t.Fatal(err)
		}
		answer := a.answer
		a.answer = nil
		if err := StampHead(t.Context(), a.Client(), a.URL, path, next); err != nil {
			t.Error(err)
		}
		if r := c.compareStamped(t, path, a.roots); !r.OK() || r.Stamps != 2 {
			t.Errorf("with another answer in the place of %.10q: %s", broken, &r)
		}
		a.answer = answer
	}
	elsewhere := linkStamps(t, path+"4")
	a.answer = nil
	if err := StampHead(t.Context(), a.Client(), a.URL, path+"4", next); err == nil || fsx.Exists(filepath.Join(elsewhere, filepath.Base(stampPath(path, next.Seq)))) {
		t.Errorf("an answer is stored where a link leads: %v", err)
	}
	a.answer = []byte("no answer")
	if err := StampHead(t.Context(), a.Client(), a.URL, path+"3", next); err == nil || fsx.Exists(stampPath(path+"3", next.Seq)) {
		t.Error("a text that is no answer is stored")
	}
	if err := os.WriteFile(stampPath(path, next.Seq), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := c.compareStamped(t, path, a.roots); r.OK() || r.Bad.Line != 2 || !strings.Contains(r.Bad.Why, "no good time") {
		t.Errorf("with a broken answer: %s", &r)
	}
}

// An operator who makes a new past with all its anchors gets the times of today for them.
func TestAPastThatIsMadeTodayIsFound(t *testing.T) {
	t.Parallel()
	a, path := newAuthority(t), filepath.Join(t.TempDir(), "anchors.jsonl")
	yesterday := time.Now().Add(-20 * time.Hour).UTC()
	c := newChain(t, newKey(t, 1))
	c.addAt(t, yesterday, "a")
	e := c.anchor(t, path)
	if err := StampHead(t.Context(), a.Client(), a.URL, path, e); err != nil {
		t.Fatal(err)
	}
	c.addAt(t, yesterday.Add(time.Hour), "b")
	if r := c.compareStamped(t, path, a.roots); r.OK() || !strings.Contains(r.Bad.Why, "written later than it says") {
		t.Errorf("the result is %s", &r)
	}
}
