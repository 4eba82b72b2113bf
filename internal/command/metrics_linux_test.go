package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/internal/app"
)

func TestServeShowsItsMetrics(t *testing.T) {
	t.Parallel()
	dir, at := folder(t), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	place(t, dir, app.ConfigName, configText(t, dir)+fmt.Sprintf("metrics: {listen: %q}\n", at))
	place(t, dir, "notes.txt", "text")
	s := serveHTTP(t, dir)
	defer s.stop(t)
	// Scrapers that open connections and say nothing take no place of a call.
	for range 40 {
		c, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET /metrics HTTP/1.1\r\n"); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if status, body := s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers()); status != 200 {
		t.Fatalf("the call beside dead scrapers = %d %s", status, body)
	}
	// The local user holds no permission of that name.
	if status, _ := s.request(t, "GET", "/metrics", "", s.headers()); status != 403 {
		t.Errorf("/metrics with a token that lacks the permission = %d, want 403", status)
	}
	if status, _ := s.request(t, "GET", "/metrics", "", nil); status != 401 {
		t.Errorf("/metrics without a token = %d, want 401", status)
	}
}

func TestMetricsWithAndWithoutAToken(t *testing.T) {
	t.Parallel()
	dir, at := folder(t), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	text := configText(t, dir)
	place(t, dir, app.ConfigName, text+fmt.Sprintf("metrics: {listen: %q}\nsecurity: {default_permissions: [\"metrics:read\"]}\n", at))
	place(t, dir, "notes.txt", "text")
	s := serveHTTP(t, dir)
	defer s.stop(t)
	s.request(t, "POST", "/v1/actions/read_file/execute", `{"params":{"path":"notes.txt"}}`, s.headers())
	status, with := s.request(t, "GET", "/metrics", "", s.headers())
	if status != 200 {
		t.Fatalf("/metrics with the permission = %d %s", status, with)
	}
	res, err := http.Get("http://" + at + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	without, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("the listener for metrics = %d %v", res.StatusCode, err)
	}
	for _, answer := range []string{with, string(without)} {
		for _, want := range []string{
			`sallyport_calls_total{outcome="ok",step="",surface="http",tool="read_file"} 1`, "sallyport_ready 1", "sallyport_approvals_waiting 0", "sallyport_chain_head_seq 2", "go_goroutines",
		} {
			if !strings.Contains(answer, want) {
				t.Errorf("the metrics lack %s", want)
			}
		}
		if !regexp.MustCompile(`(?m)^sallyport_state_bytes [1-9]`).MatchString(answer) {
			t.Error("the size of the state is not known")
		}
	}
	// A page in a browser of this machine gets nothing.
	for _, header := range [][2]string{{"Host", "evil.example"}, {"Origin", "http://evil.example"}} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
		r.Header.Set(header[0], header[1])
		if header[0] == "Host" {
			r.Host = header[1]
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 403 {
			t.Errorf("a request with %v = %d, want 403", header, res.StatusCode)
		}
	}
}
