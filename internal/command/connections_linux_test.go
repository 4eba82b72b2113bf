package command

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/app/serving"
)

// TestB12_SlowHeadersWithFewDescriptors starts a server that may open 256
// files. It must answer calls, and put a changed configuration in force, beside
// 400 connections that never end their headers.
func TestB12_SlowHeadersWithFewDescriptors(t *testing.T) {
	t.Parallel()
	dir, text, _ := reloadFolder(t)
	s := serveWatched(t, dir)
	lowered := unix.Rlimit{Cur: 256, Max: 256}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &lowered, nil); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.url, "http://")
	for range 400 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+address+"\r\nX-Slow: ")
	}
	// The answer must come within serving.HeaderTimeout, after which the server closes
	// these connections anyway.
	fresh := &http.Client{Timeout: serving.HeaderTimeout * 8 / 10, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		res, err := fresh.Get(s.url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Errorf("a request beside them: %s", res.Status)
		}
	}
	s.change(t, dir, strings.Replace(text, "  reader:", "  writer:", 1), inForce)
}
