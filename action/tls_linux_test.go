package action_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/internal/needs"
)

// TestMain has the process trust the certificate of net/http/httptest, which is
// for example.com, as a system trusts its own. See crypto/x509, SSL_CERT_FILE.
func TestMain(m *testing.M) {
	os.Exit(trusting(m.Run))
}

func trusting(run func() int) int {
	dir, err := os.MkdirTemp("", "action-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	s := httptest.NewTLSServer(http.NotFoundHandler())
	s.Close()
	file := filepath.Join(dir, "roots.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("SSL_CERT_FILE", file)
	return run()
}

// echoing answers over TLS with the key that it got.
func echoing(t *testing.T) (host string, keys func() []string) {
	t.Helper()
	var mu sync.Mutex
	var got []string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got = append(got, r.Header.Get("X-Api-Key"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"you": "`+r.Header.Get("X-Api-Key")+`"}`)
	}))
	t.Cleanup(s.Close)
	return strings.Replace(s.Listener.Addr().String(), "127.0.0.1", "example.com", 1), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
}

func TestSecretsOverTLS(t *testing.T) {
	t.Parallel()
	host, keys := echoing(t)
	g := newGate(t, decoded(t, `{"id": "act", "capabilities": {"secrets": ["providers/*"]},
		"handler": {"http": {"url": "URL/", "headers": {"X-Api-Key": "{secret:providers/weather/apiKey}"}}}}`, "https://"+host))
	res := g.use(`{}`)
	if !res.OK || strings.Contains(fmt.Sprint(res), "horse") || len(keys()) != 1 || keys()[0] != apiKey {
		t.Errorf("result = %+v, the server got %q, want the secret there and not here", res, keys())
	}
}

// TestSecretsOfProgramsOverTLS has a program send its stand-in.
func TestSecretsOfProgramsOverTLS(t *testing.T) {
	t.Parallel()
	needs.Programs(t, "python3")
	host, keys := echoing(t)
	dir := handlers(t, map[string]string{"a.py": "import json, os, urllib.request\nr = urllib.request.Request('https://" + host + "/x', headers={'X-Api-Key': os.environ['API_KEY']})\nprint(json.dumps(json.load(urllib.request.urlopen(r))))\n"})
	g := newGate(t, scripted(t, dir, `{"id": "act", "handler": {"exec": {"path": "a.py", "env": {"API_KEY": "{secret:providers/weather/apiKey}"}}},
		"capabilities": {"network": {"allowedHosts": ["`+host+`"]}, "secrets": ["providers/weather/apiKey"]}}`))
	res := g.use(`{}`)
	if !res.OK || strings.Contains(fmt.Sprint(res), "horse") || len(keys()) != 1 || keys()[0] != apiKey {
		t.Errorf("result = %+v, the server got %q, want the secret there and not here", res, keys())
	}
}
