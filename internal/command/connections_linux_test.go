package command

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/listening"
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
	var err error
	for range 3 { // a machine that is busy may be slow once
		if err = askBesideSlowHeaders(t, s.url); err == nil {
			break
		}
	}
	if err != nil {
		t.Error(err)
	}
	s.change(t, dir, strings.Replace(text, "  reader:", "  writer:", 1), inForce)
}

// askBesideSlowHeaders opens 400 connections that do not end their headers, and makes
// requests beside them. An answer must come within listening.HeaderTimeout, after which the
// server closes these connections anyway.
// They stay open when all were answered.
func askBesideSlowHeaders(t *testing.T, url string) (err error) {
	t.Helper()
	var slow []net.Conn
	closeSlow := func() {
		for _, c := range slow {
			_ = c.Close()
		}
	}
	t.Cleanup(closeSlow)
	defer func() {
		if err != nil {
			closeSlow()
		}
	}()
	address := strings.TrimPrefix(url, "http://")
	for range 400 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return err
		}
		slow = append(slow, c)
		_, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: "+address+"\r\nX-Slow: ")
	}
	fresh := &http.Client{Timeout: listening.HeaderTimeout * 8 / 10, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 20 {
		res, err := fresh.Get(url + "/healthz")
		if err != nil {
			return err
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("a request beside them: %s", res.Status)
		}
	}
	return nil
}
