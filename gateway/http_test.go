package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sallyport/sallyport/gateway"
	"github.com/sallyport/sallyport/internal/needs"
)

// post sends a message as alice and returns status and body.
func post(t *testing.T, h *http.Client, url, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := h.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

const stateless = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func TestHandlerWithoutAGuardLetsNobodyIn(t *testing.T) {
	k := newKit(t)
	s := httptest.NewServer(k.Handler())
	defer s.Close()
	h := client(t, "alice")
	for _, header := range [][]string{nil, {"Sallyport-Principal", "alice"}, {"Mcp-Protocol-Version", "2026-07-28"}} {
		if status, body := post(t, h, s.URL, hello, header...); status != http.StatusUnauthorized {
			t.Errorf("with %v: status %d %s, want 401", header, status, body)
		}
	}
	if got := k.record.outcomes(""); len(got) != 0 {
		t.Errorf("recorded %d calls, want none", len(got))
	}
}

func TestMessageThatIsTooLongIsRefused(t *testing.T) {
	site := newKit(t).site(t)
	h := client(t, "alice")
	long := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":"` + strings.Repeat("x", 10<<20) + `"}}}`
	for _, version := range versions {
		if status, body := post(t, h, site.URL, long, "Mcp-Protocol-Version", version); status != http.StatusRequestEntityTooLarge {
			t.Errorf("version %s: status %d %.100s, want 413", version, status, body)
		}
	}
}

func TestRequestsAtOnceAreBounded(t *testing.T) {
	k := newKit(t)
	site := k.site(t)
	var wg sync.WaitGroup
	hold := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{},` + stateless + `}}`
	header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "hold"}
	for _, who := range []struct {
		name  string
		bound int // its own bound, and what that leaves of the common one
	}{{"alice", 400}, {"bob", 200}} {
		h := client(t, who.name)
		for range who.bound {
			wg.Go(func() { post(t, h, site.URL, hold, header...) })
		}
		for range who.bound {
			<-k.started
		}
		if status, body := post(t, h, site.URL, hold, header...); status != http.StatusServiceUnavailable {
			t.Errorf("request %d of %s: status %d %s, want 503", who.bound+1, who.name, status, body)
		}
	}
	over, cancel := cancelled(t)
	defer cancel()
	if err := k.Shutdown(over); err == nil {
		t.Error("Shutdown() = nil, want that calls had to be cancelled")
	}
	wg.Wait()
}

// TestB8_LongMessagesWaitForNobody: running calls with long messages delay no
// other call, not even of the same principal. Their memory is bounded: a
// principal that has used up its share is refused with the bound, and another
// principal finds room.
func TestB8_LongMessagesWaitForNobody(t *testing.T) {
	needs.NoRace(t)
	k := newKit(t)
	site := k.site(t)
	h, other := client(t, "alice"), client(t, "bob")
	header := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name"}
	message := func(tool, filler string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{"a":"` + filler + `"},` + stateless + `}}`
	}
	long, longest := strings.Repeat("x", 300<<10), strings.Repeat("x", 7<<20)
	var wg sync.WaitGroup
	hold := func(who *http.Client, filler string) {
		wg.Go(func() { post(t, who, site.URL, message("hold", filler), slices.Concat(header, []string{"hold"})...) })
		<-k.started
	}
	for _, who := range []*http.Client{h, other} {
		for range 20 {
			hold(who, long)
		}
		if status, body := post(t, who, site.URL, message("echo", long), append(header, "echo")...); status != http.StatusOK {
			t.Errorf("a long message beside 20 that run: status %d %.100s, want 200", status, body)
		}
	}
	held := 0
	for ; held < 100; held++ {
		status, body := post(t, h, site.URL, message("echo", longest), append(header, "echo")...)
		if status == http.StatusServiceUnavailable {
			if !strings.Contains(body, "too many long messages at once: 192 MiB in all") {
				t.Errorf("the refusal says %s", body)
			}
			break
		}
		hold(h, longest)
	}
	if held < 8 || held > 15 {
		t.Errorf("%d of the longest messages of one principal were held", held)
	}
	for _, filler := range []string{long, longest} {
		if status, body := post(t, other, site.URL, message("echo", filler), append(header, "echo")...); status != http.StatusOK {
			t.Errorf("a message of another: status %d %.100s, want 200", status, body)
		}
	}
	over, cancel := cancelled(t)
	defer cancel()
	if err := k.Shutdown(over); err == nil {
		t.Error("Shutdown() = nil, want that calls had to be cancelled")
	}
	wg.Wait()
}

// TestB9_ANewcomerGetsASession when other principals have all of them: the
// server closes the oldest session of the principal with the most, and none of
// a principal with as few as the newcomer.
func TestB9_ANewcomerGetsASession(t *testing.T) {
	const bound = 1000
	k := newKit(t)
	site := k.siteOf(t, tokens{"alice": {Name: "alice"}, "bob": {Name: "bob"}, "carol": {Name: "carol"}})
	h := client(t, "alice")
	for i := range bound {
		if i == bound/2 {
			h = client(t, "bob")
		}
		if status, body := post(t, h, site.URL, hello); status != http.StatusOK {
			t.Fatalf("session %d: status %d %s, want 200", i, status, body)
		}
	}
	for i := range 400 {
		if status, body := post(t, client(t, "carol"), site.URL, hello); i < 300 && status != http.StatusOK {
			t.Fatalf("session %d of another: status %d %s, want 200", i, status, body)
		}
	}
	if n := k.OpenSessions(); n > bound || k.SessionsOf("carol") < 300 || k.SessionsOf("alice") < 300 || k.SessionsOf("bob") < 300 {
		t.Errorf("of %d sessions alice has %d, bob %d, carol %d", n, k.SessionsOf("alice"), k.SessionsOf("bob"), k.SessionsOf("carol"))
	}
	if status, body := post(t, h, site.URL, hello); status != http.StatusOK {
		if !strings.Contains(body, "too many sessions are open: 500 of a principal, 1000 of all") {
			t.Errorf("the refusal says %s", body)
		}
	}
}

func TestNewRefusesNoGate(t *testing.T) {
	if _, err := gateway.New(nil, nil); err == nil {
		t.Error("New(nil, nil) = nil error, want one")
	}
}
