package command

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sallyport/sallyport/auth"
)

// TestActionRolesOfAPrincipal asks for roles that a principal may take and for
// roles that it may not take.
func TestActionRolesOfAPrincipal(t *testing.T) {
	t.Parallel()
	station := newWeatherStation(t)
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  near: {toolset: [near], safety: {network: {allow: ["`+station.host()+`"], allow_private_urls: true}}}
  far: {toolset: [far], safety: {network: {allow: ["`+station.host()+`"], allow_private_urls: true}}}
principals:
  one: {token_sha256: "`+auth.HashToken(tokenOf("one"))+`", personalities: [far]}
  both: {token_sha256: "`+auth.HashToken(tokenOf("both"))+`", personalities: [far, near]}
actions:
  - {id: near, handler: {http: {url: "`+station.URL+`/near"}}}
  - {id: far, handler: {http: {url: "`+station.URL+`/far"}}}
`)
	s := serveHTTP(t, dir, "--personality", "near")
	tests := []struct {
		principal, action, role string
		status                  int
	}{
		{"one", "far", "", 200}, // its own role, since it may not take the server's
		{"one", "far", "far", 200},
		{"one", "near", "", 404},
		{"one", "near", "near", 404},
		{"one", "far", "near", 404},
		{"one", "far", "nobody", 404},
		{"both", "near", "", 200},
		{"both", "far", "", 404},
		{"both", "far", "far", 200},
		{"both", "near", "far", 404},
	}
	for _, tt := range tests {
		body := `{"params":{}}`
		if tt.role != "" {
			body = `{"params":{},"personality":"` + tt.role + `"}`
		}
		a, err := execute(t.Context(), http.DefaultClient, s.url, tokenOf(tt.principal), tt.action, body)
		if err != nil || a.Status != tt.status {
			t.Errorf("%s calls %s as %q = %d %s, %v, want %d", tt.principal, tt.action, tt.role, a.Status, a.Error, err, tt.status)
		}
	}
	s.stop(t)
}

// TestActionSecretsStayInside has an upstream that returns what it was sent, in
// each form in which a secret may travel.
func TestActionSecretsStayInside(t *testing.T) {
	t.Parallel()
	const secret = "zq9-Xy7w/Hunter2+oQe81"
	var sent atomic.Value
	mirror := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Store(r.Header.Get("X-Api-Key"))
		key := []byte(r.Header.Get("X-Api-Key"))
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{
			"plain": string(key), "hex": hex.EncodeToString(key), "base64": base64.StdEncoding.EncodeToString(key),
		})
	}))
	t.Cleanup(mirror.Close)
	host := strings.TrimPrefix(mirror.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
secrets: [{dir: ./secrets}]
personalities:
  keyed:
    toolset: [mirror]
    safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}
principals:
  reader: {token_sha256: "`+auth.HashToken(tokenOf("reader"))+`"}
actions:
  - id: mirror
    capabilities: {secrets: [providers/mirror/key]}
    handler: {http: {url: "http://`+host+`/", headers: {X-Api-Key: "{secret:providers/mirror/key}"}}}
`)
	keep(t, dir, "secrets/providers/mirror/key", secret)
	s := serveHTTP(t, dir)
	a := s.action(t, "reader", "mirror", `{}`)
	if a.Status != 200 || sent.Load() != secret {
		t.Fatalf("mirror = %d %s, the upstream got %q, want the secret", a.Status, a.Error, sent.Load())
	}
	s.stop(t)
	exported := runSallyport(t, dir, "audit", "export")
	for what, text := range map[string]string{
		"the answer": string(a.Data) + a.Error, "the record": exported, "the state": string(stateOf(t, dir)), "stderr": s.stderr.String(), "stdout": s.banner,
	} {
		for _, form := range []string{secret, hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
			if strings.Contains(text, form) {
				t.Errorf("%s holds the secret as %s", what, form)
			}
		}
	}
}

// TestActionsCountOnceForTheLimit dry-runs, breaks and retries calls: only
// admitted calls count.
func TestActionsCountOnceForTheLimit(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	shaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"temperature":1}`))
	}))
	t.Cleanup(shaky.Close)
	dir := configured(t, fixture(t, "reload.yaml", map[string]string{
		"HOST": strings.TrimPrefix(shaky.URL, "http://"), "READER": auth.HashToken(tokenOf("reader")),
	}))
	s := serveHTTP(t, dir)
	for _, body := range []string{`{"params":{"location":"Paris"},"dry_run":true}`, `{"params":{}}`, `{"params":{"location":"Paris"},"x":1}`} {
		for range 4 {
			if a, err := execute(t.Context(), http.DefaultClient, s.url, tokenOf("reader"), "get-weather", body); err != nil || a.Status == 429 {
				t.Errorf("%s = %d %s, %v, want no limit", body, a.Status, a.Error, err)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the upstream was asked %d times, want 0", n)
	}
	for i := range 3 {
		if a := s.action(t, "reader", "get-weather", `{"location":"Paris"}`); a.Status != 200 {
			t.Errorf("call %d = %d %s, want 200 after a retry", i+1, a.Status, a.Error)
		}
	}
	if a := s.action(t, "reader", "get-weather", `{"location":"Paris"}`); a.Status != 429 {
		t.Errorf("the call after the limit = %d %s, want 429", a.Status, a.Error)
	}
	if n := asked.Load(); n != 6 {
		t.Errorf("the upstream was asked %d times, want 3 calls with a retry each", n)
	}
	s.stop(t)
}

// TestActionReloadUnderLoad changes the configuration while many clients call:
// no call fails because of it, and no limit starts again.
func TestActionReloadUnderLoad(t *testing.T) {
	t.Parallel()
	c := crowd{principals: 4, clients: 8, limit: 40}
	upstream := newEchoes(t, -1)
	dir := crowdFolder(t, c, upstream)
	s := serveWatched(t, dir)
	text := configText(t, dir)
	sum, client := newTally(c), crowdClient(t, c)
	over := make(chan struct{})
	var calling sync.WaitGroup
	calling.Go(func() {
		for round := 0; ; round++ {
			rush(t, c, client, s.url, fmt.Sprint("r", round), 1, sum)
			select {
			case <-over:
				return
			default:
			}
		}
	})
	for i := range 3 {
		s.change(t, dir, fmt.Sprintf("%s# change %d\n", text, i), inForce)
	}
	close(over)
	calling.Wait()
	// Use up the calls that are left, so that the limit is reached.
	rush(t, c, client, s.url, "rest", c.limit, sum)
	for p := range c.principals {
		if n, effects := int(sum.admitted[p].Load()), upstream.count(crowdName(p)); n != c.limit || effects != c.limit {
			t.Errorf("%s: %d admitted, %d effects, want %d", crowdName(p), n, effects, c.limit)
		}
	}
	if n := sum.lost.Load(); n != 0 {
		t.Errorf("%d calls were not answered", n)
	}
	s.stop(t)
	checkRecord(t, c, dir, upstream)
}
