package egress

import (
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/internal/needs"
)

func TestProxyCarriesBothSchemes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, public(), func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		io.WriteString(rw, r.Method+" "+r.Host+r.URL.RequestURI()+" "+string(b))
	})
	p, addr := w.proxy(t, allow("a.example"), nil)
	c := clientVia(t, addr, w.roots)
	for _, url := range []string{"http://a.example/x?y=1", "https://a.example/x?y=1", "http://a.example:443/z"} {
		resp, err := c.Post(url, "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatalf("Post(%s) = %v", url, err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		_, rest, _ := strings.Cut(url, "://")
		if want := "POST " + rest + " body"; string(b) != want {
			t.Errorf("Post(%s) = %q, want %q", url, b, want)
		}
	}
	_, err := get(c, "https://b.example/")
	if err == nil {
		t.Error("Get of another host passed")
	}
	p.Close()
	want := []sallyport.HostUse{
		{Host: "a.example", Port: 80, Allowed: true, Connections: 1},
		{Host: "a.example", Port: 443, Allowed: true, Connections: 2},
		{Host: "b.example", Port: 443, Why: "b.example is not in the declared allowedHosts", Connections: 1},
	}
	if d := cmp.Diff(want, p.Uses(), cmpopts.IgnoreFields(sallyport.HostUse{}, "Sent", "Received")); d != "" {
		t.Errorf("Uses (-want +got):\n%s", d)
	}
	for _, u := range p.Uses() {
		if (u.Sent > 0) != u.Allowed || (u.Received > 0) != u.Allowed {
			t.Errorf("Uses: %+v, want bytes exactly where allowed", u)
		}
	}
}

func TestProxyWithCurl(t *testing.T) {
	t.Parallel()
	curl := needs.Program(t, "curl")
	w := newWorld(t, public(), ok)
	p, addr := w.proxy(t, allow("a.example"), nil)
	for _, flags := range [][]string{
		{"-x", "http://" + addr, "http://a.example/"},
		{"-x", "http://" + addr, "-k", "https://a.example/"},
		{"-x", "http://" + addr, "-p", "http://a.example/"},
		{"--socks5-hostname", addr, "http://a.example/"},
		{"--socks5-hostname", addr, "-k", "https://a.example/"},
		{"-x", "socks5h://u:p@" + addr, "-k", "https://a.example/"},
		{"-x", "http://u:p@" + addr, "-H", "Expect: 100-continue", "-d", "x", "http://a.example/"},
	} {
		out, err := exec.CommandContext(t.Context(), curl, append([]string{"-sS", "--max-time", "20"}, flags...)...).CombinedOutput()
		if err != nil || string(out) != "ok" {
			t.Errorf("curl %v = %q, %v, want ok", flags, out, err)
		}
	}
	for _, flags := range [][]string{
		{"-x", "http://" + addr, "http://b.example/"},
		{"-x", "http://" + addr, "-k", "https://b.example/"},
		{"--socks5-hostname", addr, "-k", "https://b.example/"},
	} {
		out, _ := exec.CommandContext(t.Context(), curl, append([]string{"-sS", "--max-time", "20"}, flags...)...).CombinedOutput()
		if s := string(out); s == "ok" || !strings.Contains(s, "HOST_NOT_ALLOWED") && !strings.Contains(s, "403") && !strings.Contains(s, "(2)") {
			t.Errorf("curl %v = %q, want a refusal", flags, out)
		}
	}
	p.Close()
	if u := findUse(t, p, "b.example", false); u.Why == "" {
		t.Errorf("refusal recorded as %+v, want a reason", u)
	}
}
