package command

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport/sallyport/auth"
	"github.com/sallyport/sallyport/internal/app"
)

// Clients of several principals call at once, all with the same id. A session's
// id that another principal uses opens nothing and ends nothing.
func TestCVE_2026_25536_GHSA_345p_7cg4_v4c7_CVE_2026_52869_CVE_2026_52870_CrossedAnswers(t *testing.T) {
	t.Parallel()
	upstream := newEchoes(t, -1)
	c := crowd{principals: 4, clients: 30, limit: 1000}
	dir := crowdFolder(t, c, upstream)
	s := serveHTTP(t, dir)
	sum := newTally(c)
	rush(t, c, crowdClient(t, c), s.url, "a", 3, sum)
	for p := range c.principals {
		if n := int(sum.admitted[p].Load()); n != 3*c.clients {
			t.Errorf("%s has %d answers, want %d", crowdName(p), n, 3*c.clients)
		}
	}
	as := func(p int) *service {
		return &service{url: s.url, token: tokenOf(crowdName(p))}
	}
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		session := as(0).greet(t, version)
		for _, method := range []string{"POST", "GET", "DELETE"} {
			h := as(1).headers("Mcp-Session-Id", session, "Mcp-Protocol-Version", version)
			if status, text := as(1).request(t, method, "/mcp", message(version, false, "echo", `{"nonce":"crowd1-x-0-0"}`), h); status != 403 {
				t.Errorf("%s in the session of another principal = %d %s, want 403", method, status, text)
			}
		}
		if v := as(0).overMCP(t, version, session, false, "echo", `{"nonce":"crowd0-x-0-0"}`); !v.OK {
			t.Errorf("the session's own principal after that = %+v, want an answer", v)
		}
	}
	if n := upstream.count("crowd1"); n != 3*c.clients {
		t.Errorf("the upstream saw %d calls of the other principal, want its own %d", n, 3*c.clients)
	}
	s.stop(t)
}

// echoedRequest is what an upstream received of a request.
type echoedRequest struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         string
}

// witness is an upstream that remembers whole requests.
type witness struct {
	*httptest.Server
	mu   sync.Mutex
	seen []echoedRequest
}

func newWitness(t *testing.T) *witness {
	w := &witness{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.mu.Lock()
		w.seen = append(w.seen, echoedRequest{r.Method, r.URL.EscapedPath(), r.URL.Query(), r.Header.Clone(), string(body)})
		w.mu.Unlock()
		for _, h := range []string{"Set-Cookie", "X-Internal", "Www-Authenticate", "Access-Control-Allow-Origin", "Location"} {
			rw.Header().Set(h, "of-the-upstream")
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"done":true}`)
	}))
	t.Cleanup(w.Close)
	return w
}

// taken returns the requests since the last call of taken.
func (w *witness) taken() []echoedRequest {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// petDocument describes the witness.
const petDocument = `openapi: 3.0.3
info: {title: Pets, version: "1"}
servers: [{url: "%s/v1"}]
paths:
  /pets/{id}/notes:
    get:
      operationId: notes
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: tag, in: query, schema: {type: string}}
        - {name: X-Trace, in: header, schema: {type: string}}
      responses: {"200": {description: ok}}
`

// An argument of an imported operation stays in its place, whatever it holds:
// scheme, host, port, path segments, query keys and headers come from the
// document.
func TestCVE_2026_32871_CVE_2026_29791_GHSA_v2x6_wwfw_r2rq_ArgumentsStayInTheirPlaces(t *testing.T) {
	t.Parallel()
	upstream := newWitness(t)
	host := strings.TrimPrefix(upstream.URL, "http://")
	dir := t.TempDir()
	place(t, dir, "pets.yaml", fmt.Sprintf(petDocument, upstream.URL))
	imported := runSallyport(t, dir, "import", "openapi", "pets.yaml", "--prefix", "pet_")
	place(t, dir, app.ConfigName, "version: 1\nstate: sqlite:.sallyport/state.db\npersonalities:\n  ops: {toolset: [pet_notes], safety: {network: {allow: [\""+host+
		"\"], allow_private_urls: true}}}\nprincipals: {local: {permissions: [\"http:read\"], personalities: [ops]}}\n")
	place(t, dir, "actions.yaml", imported)
	library := librarySurfaceOf(t, dir, app.ConfigName, "actions.yaml")
	tried, made := 0, 0
	for _, evil := range []string{
		"../../admin", "..", ".", "%2e%2e/admin", "..%2fadmin", "a/b", "a\\b", "x?tag=y", "x#y", "x&admin=1", "x;admin=1", "//evil.example/", "@evil.example",
		"http://evil.example/", "x\r\nX-Admin: 1", "x\nHost: evil.example", "x\x00y", "x y", "x%0d%0ay", "é", "{id}", "{secret:a/b}", "${home}", "a=b", "",
	} {
		for _, place := range []string{"id", "tag", "X-Trace"} {
			in := map[string]string{"id": "one", "tag": "t", "X-Trace": "h"}
			in[place] = evil
			args, err := json.Marshal(in)
			if err != nil {
				t.Fatal(err)
			}
			v := library.call(t, "pet_notes", string(args))
			tried++
			for _, got := range upstream.taken() {
				made++
				checkPlaces(t, place, evil, got)
			}
			if v.Code == "not_available" {
				t.Fatalf("pet_notes = %+v, want it called", v)
			}
		}
	}
	if made < tried/3 {
		t.Errorf("%d of %d calls arrived, want the harmless ones among them", made, tried)
	}
}

// checkPlaces requires a request that differs only in the value of one place.
func checkPlaces(t *testing.T, place, evil string, got echoedRequest) {
	t.Helper()
	segments := strings.Split(got.Path, "/")
	if got.Method != "GET" || len(segments) != 5 || segments[1] != "v1" || segments[2] != "pets" || segments[4] != "notes" {
		t.Errorf("%s=%q asks for %s %s, want another pet at most", place, evil, got.Method, got.Path)
	}
	for key, values := range got.Query {
		if key != "tag" || len(values) != 1 {
			t.Errorf("%s=%q makes the query %v, want tag alone", place, evil, got.Query)
		}
	}
	for name := range got.Header {
		if !slices.Contains([]string{"X-Trace", "Accept", "Accept-Encoding", "User-Agent", "Content-Type"}, name) {
			t.Errorf("%s=%q sends the header %s", place, evil, name)
		}
	}
}

// The gate forwards only the call itself to an upstream, and only the result of
// the upstream to the caller. The list holds everything that is sent.
func TestTH_6235_HeadersStayHere(t *testing.T) {
	t.Parallel()
	upstream := newWitness(t)
	host := strings.TrimPrefix(upstream.URL, "http://")
	dir := configured(t, `version: 1
state: sqlite:.sallyport/state.db
personalities:
  ops: {toolset: [look], safety: {network: {allow: ["`+host+`"], allow_private_urls: true}}}
actions: [{id: look, handler: {http: {url: "`+upstream.URL+`/look"}}}]
`)
	s := serveHTTP(t, dir)
	session := s.greet(t, "2025-11-25")
	extra := []string{
		"Cookie", "session=mine", "Proxy-Authorization", "Basic bWluZQ==", "X-Api-Key", "mine", "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Host", "evil.example",
		"Forwarded", "for=192.0.2.1", "Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "Referer", "http://mine.example/", "X-Http-Method-Override", "DELETE",
	}
	requests := map[string]func() http.Header{
		"the API": func() http.Header {
			return s.answersWith(t, "/v1/actions/look/execute", `{"params":{}}`, s.headers(extra...))
		},
		"2025-11-25": func() http.Header {
			return s.answersWith(t, "/mcp", message("2025-11-25", false, "look", `{}`), s.headers(append([]string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", "2025-11-25"}, extra...)...))
		},
		"2026-07-28": func() http.Header {
			return s.answersWith(t, "/mcp", message("2026-07-28", false, "look", `{}`),
				s.headers(append([]string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "look"}, extra...)...))
		},
	}
	for name, request := range requests {
		back := request()
		for header, values := range back {
			if slices.Contains(values, "of-the-upstream") {
				t.Errorf("%s: the answer carries %s of the upstream", name, header)
			}
		}
		seen := upstream.taken()
		if len(seen) != 1 {
			t.Fatalf("%s: the upstream saw %d requests, want 1", name, len(seen))
		}
		var sent []string
		for header := range seen[0].Header {
			sent = append(sent, header)
		}
		slices.Sort(sent)
		if diff := cmp.Diff([]string{"Accept", "Accept-Encoding", "User-Agent"}, sent); diff != "" {
			t.Errorf("%s: the upstream was sent other headers:\n%s", name, diff)
		}
		if text := fmt.Sprint(seen[0]); strings.Contains(text, "mine") || strings.Contains(text, s.token) {
			t.Errorf("%s: the upstream was sent %s", name, text)
		}
	}
	s.stop(t)
}

// answersWith posts a body and returns the headers of the answer.
func (s *service) answersWith(t *testing.T, path, body string, header map[string]string) http.Header {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
		t.Fatalf("POST %s = %s %s, %v", path, res.Status, text, err)
	}
	return res.Header
}

// A token for another audience admits no caller here.
func TestCVE_2026_13341_Audience(t *testing.T) {
	t.Parallel()
	p, other := newProvider(t), newProvider(t)
	dir := configured(t, issuedText(p, `"file:read"`, "reader"))
	s := serveHTTP(t, dir, "--personality", "reader")
	other.URL = p.URL // signs with another key
	for name, token := range map[string]string{
		"another audience":  p.claim(t, map[string]any{"aud": "elsewhere"}),
		"no audience":       p.claim(t, nil),
		"an empty one":      p.claim(t, map[string]any{"aud": ""}),
		"a list of others":  p.claim(t, map[string]any{"aud": []string{"a", "b"}}),
		"a longer name":     p.claim(t, map[string]any{"aud": "sallyport.example"}),
		"another case":      p.claim(t, map[string]any{"aud": "Sallyport"}),
		"another issuer":    p.claim(t, map[string]any{"aud": "sallyport", "iss": "https://evil.example"}),
		"another key":       other.claim(t, map[string]any{"aud": "sallyport"}),
		"an id for clients": p.claim(t, map[string]any{"azp": "sallyport", "client_id": "sallyport"}),
	} {
		for _, path := range []string{"/mcp", "/v1/actions"} {
			method, body := "GET", ""
			if path == "/mcp" {
				method, body = "POST", initialize
			}
			if status, text := s.request(t, method, path, body, s.headers("Authorization", "Bearer "+token)); status != 401 {
				t.Errorf("%s: %s = %d %s, want 401", name, path, status, text)
			}
		}
	}
	good := p.claim(t, map[string]any{"aud": []string{"elsewhere", "sallyport"}})
	if status, text := s.request(t, "GET", "/v1/actions", "", s.headers("Authorization", "Bearer "+good)); status != 200 {
		t.Errorf("a token for this server among others = %d %s, want 200", status, text)
	}
	s.stop(t)
}

// Keys are created at the first start, from random bytes, for their owner
// alone. They appear in no argument, environment, output or record.
func TestGHSA_g53w_w6mj_hrpp_KeysAreOwnAndShowNowhere(t *testing.T) {
	t.Parallel()
	var keys [][]byte
	for range 2 {
		dir := folder(t)
		s := serveHTTP(t, dir)
		path := filepath.Join(dir, ".sallyport", "audit.key")
		key, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the key has the mode %v, %v, want 0600", info.Mode(), err)
		}
		keys = append(keys, bytes.TrimSpace(key))
		s.request(t, "POST", "/mcp", initialize, s.headers())
		runSallyport(t, dir, "call", "read_file", `{"path":"README.md"}`)
		shown := map[string][]byte{"stdout": []byte(s.banner)}
		for _, name := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.cmd.Process.Pid, name))
			if err != nil {
				t.Fatal(err)
			}
			shown[name] = text
		}
		s.stop(t)
		shown["stderr"], shown["state"] = s.stderr.Bytes(), stateOf(t, dir)
		shown["export"] = []byte(runSallyport(t, dir, "audit", "export"))
		raw, err := hex.DecodeString(string(keys[len(keys)-1]))
		if err != nil {
			raw = keys[len(keys)-1]
		}
		for where, text := range shown {
			for _, form := range []string{string(raw), hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw), base64.RawURLEncoding.EncodeToString(raw)} {
				if bytes.Contains(text, []byte(form)) {
					t.Errorf("%s holds the key", where)
				}
			}
			if where != "stdout" && (bytes.Contains(text, []byte(s.token)) || where != "state" && bytes.Contains(text, []byte(auth.HashToken(s.token)))) {
				t.Errorf("%s holds the token or its hash", where)
			}
		}
	}
	if bytes.Equal(keys[0], keys[1]) || len(keys[0]) < 32 {
		t.Errorf("two states have keys of %d and %d bytes, equal: %v", len(keys[0]), len(keys[1]), bytes.Equal(keys[0], keys[1]))
	}
}
