package egress

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport"
)

// ssrfCase is one adversarial request of testdata/ssrf.json.
type ssrfCase struct {
	ID, URL, Expect, Method, Body, Why string
	AltExpect                          string `json:"alt_expect"`
	URLQuery                           string `json:"url_query"`
	Policy                             struct {
		Allow, Deny  []string
		AllowPrivate bool `json:"allow_private"`
	}
	ResolvesTo    json.RawMessage `json:"resolves_to"`
	Answers       [][]string
	RedirectChain []struct {
		Status   int
		Location string
	} `json:"redirect_chain"`
	MustNotDial     []string `json:"must_not_dial"`
	ConnectionReuse *bool    `json:"connection_reuse"`
	Headers, Env    map[string]string
	Response        struct {
		BodyBytes   int64 `json:"body_bytes"`
		GzipOfZeros int64 `json:"gzip_of_zeros"`
		DripMS      int   `json:"drip_ms"`
	}
	Assert struct {
		AbsentOnHop  map[int][]string `json:"absent_on_hop"`
		PresentOnHop map[int][]string `json:"present_on_hop"`
		HostSeen     string           `json:"host_seen"`
		MaxBytesRead int64            `json:"max_bytes_read"`
		WithinMS     int              `json:"within_ms"`
	}
}

func readCases[T any](t testing.TB, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// addresses reads one address, a list, or a map from host to either.
func addresses(t testing.TB, raw json.RawMessage) map[string][][]netip.Addr {
	t.Helper()
	var one string
	var list []string
	var hosts map[string]json.RawMessage
	switch {
	case len(raw) == 0:
		return nil
	case json.Unmarshal(raw, &one) == nil:
		return answer(one)
	case json.Unmarshal(raw, &list) == nil:
		return answer(list...)
	case json.Unmarshal(raw, &hosts) != nil:
		t.Fatalf("resolves_to: %s", raw)
	}
	out := map[string][][]netip.Addr{}
	for host, raw := range hosts {
		out[host] = addresses(t, raw)[""]
	}
	return out
}

// hop is what the server saw.
type hop struct {
	host   string
	header http.Header
}

// TestSSRF runs every case twice: the way a tool that fetches a URL does,
// through ParseURL, and the way an SDK does, with the client alone.
func TestSSRF(t *testing.T) {
	for _, c := range readCases[ssrfCase](t, "testdata/ssrf.json") {
		for _, parsed := range []bool{true, false} {
			name := c.ID + "/sdk"
			if parsed {
				name = c.ID + "/tool"
			}
			t.Run(name, func(t *testing.T) {
				for k, v := range c.Env {
					t.Setenv(k, v)
				}
				synctest.Test(t, func(t *testing.T) { runSSRF(t, c, parsed) })
			})
		}
	}
}

func runSSRF(t *testing.T, c ssrfCase, parsed bool) {
	var mu sync.Mutex
	var seen []hop
	answers := addresses(t, c.ResolvesTo)
	if c.Answers != nil {
		answers = map[string][][]netip.Addr{}
		for _, a := range c.Answers {
			answers[""] = append(answers[""], addrs(a...))
		}
	}
	w := newWorld(t, answers, func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, hop{r.Host, r.Header.Clone()})
		n := len(seen)
		mu.Unlock()
		if c.ConnectionReuse != nil && !*c.ConnectionReuse {
			rw.Header().Set("Connection", "close")
		}
		if n <= len(c.RedirectChain) {
			rw.Header().Set("Location", c.RedirectChain[n-1].Location)
			rw.WriteHeader(c.RedirectChain[n-1].Status)
			return
		}
		serve(rw, c)
	})
	start := time.Now()
	read, err := fetch(t, w, c, parsed)
	got := "allow"
	if err != nil {
		got = "deny"
	}
	if got != c.Expect && got != c.AltExpect {
		t.Errorf("fetch(%q) = %s (%v), want %s: %s", c.URL, got, err, c.Expect, c.Why)
	}
	checkDials(t, w, c)
	mu.Lock()
	defer mu.Unlock()
	checkHops(t, c, seen)
	if c.Assert.MaxBytesRead > 0 && read > c.Assert.MaxBytesRead {
		t.Errorf("read %d bytes, want at most %d", read, c.Assert.MaxBytesRead)
	}
	if took := time.Since(start); c.Assert.WithinMS > 0 && took > time.Duration(c.Assert.WithinMS)*time.Millisecond {
		t.Errorf("took %s, want at most %d ms", took, c.Assert.WithinMS)
	}
}

// fetch sends the request of a case and reads the answer to its end.
func fetch(t *testing.T, w *world, c ssrfCase, parsed bool) (read int64, err error) {
	g := sallyport.NetworkGrant{Allow: c.Policy.Allow, Deny: c.Policy.Deny, AllowPrivate: c.Policy.AllowPrivate}
	// A lower bound than the default keeps the floods short.
	cl, err := w.try(g, Options{MaxResponseBytes: testBound})
	if err != nil {
		return 0, err
	}
	t.Cleanup(cl.Close)
	raw := c.URL + c.URLQuery
	if parsed {
		if _, err := ParseURL(raw); err != nil {
			wantRefused(t, "ParseURL", err, "")
			return 0, err
		}
	}
	method := c.Method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", raw, strings.NewReader(c.Body))
	if err != nil {
		return 0, err
	}
	req.Method = method
	for k, v := range c.Headers {
		req.Header[k] = []string{v}
	}
	resp, err := bind(cl, nil).Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	return io.Copy(io.Discard, resp.Body)
}

// testBound is the size that a response may have in these tests.
const testBound = 1 << 20

// serve answers the last hop. What is endless in a case ends well beyond the
// bound, unless the reader hangs up before.
func serve(rw http.ResponseWriter, c ssrfCase) {
	chunk, n := make([]byte, 1<<16), min(c.Response.BodyBytes, 64*testBound)
	if c.Response.GzipOfZeros > 0 {
		rw.Header().Set("Content-Encoding", "gzip")
		chunk, n = gzipped(chunk), min(c.Response.GzipOfZeros, 64*testBound)
	}
	for ; n > 0; n -= 1 << 16 {
		if _, err := rw.Write(chunk); err != nil {
			return
		}
	}
	for c.Response.DripMS > 0 {
		if _, err := rw.Write([]byte("x")); err != nil {
			return
		}
		rw.(http.Flusher).Flush()
		time.Sleep(time.Duration(c.Response.DripMS) * time.Millisecond)
	}
}

// gzipped returns one gzip member; a stream of them is a gzip stream.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

func checkDials(t *testing.T, w *world, c ssrfCase) {
	t.Helper()
	for _, d := range w.dials() {
		if what := Floor(d.Addr(), c.Policy.AllowPrivate); what != "" {
			t.Errorf("dialled %s, %s", d, what)
		}
		if slices.Contains(c.MustNotDial, d.Addr().String()) {
			t.Errorf("dialled %s, which must not be", d)
		}
	}
}

func checkHops(t *testing.T, c ssrfCase, seen []hop) {
	t.Helper()
	for n, names := range c.Assert.AbsentOnHop {
		for _, name := range names {
			if len(seen) < n || seen[n-1].header.Get(name) != "" {
				t.Errorf("hop %d of %d carries %s", n, len(seen), name)
			}
		}
	}
	for n, names := range c.Assert.PresentOnHop {
		for _, name := range names {
			if len(seen) < n || seen[n-1].header.Get(name) == "" {
				t.Errorf("hop %d of %d lacks %s", n, len(seen), name)
			}
		}
	}
	if len(seen) > 0 && c.Assert.HostSeen != "" && seen[0].host != c.Assert.HostSeen {
		t.Errorf("the server saw Host %s, want %s", seen[0].host, c.Assert.HostSeen)
	}
}
