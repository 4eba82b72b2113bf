package command

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Idle connections hold as many descriptors as they can get.
func TestB12_ReloadWhileConnectionsHoldTheRest(t *testing.T) {
	t.Parallel()
	dir, text, _ := reloadFolder(t)
	s := serveWatched(t, dir)
	const limit = 160
	lowered := unix.Rlimit{Cur: limit, Max: limit}
	if err := unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_NOFILE, &lowered, nil); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.url, "http://")
	held := make(chan struct{}, 2*limit)
	for range 2 * limit {
		go func() {
			// Each connection that the server closes is replaced by another
			// one.
			for t.Context().Err() == nil {
				c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
				if err != nil {
					return
				}
				// After an answer, the connection may stay for the time of an
				// idle one.
				_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: "+address+"\r\n\r\n")
				stop := context.AfterFunc(t.Context(), func() { c.Close() })
				select {
				case held <- struct{}{}:
				default:
				}
				_, _ = io.Copy(io.Discard, c)
				stop()
				c.Close()
			}
		}()
	}
	for range 2 * limit {
		<-held
	}
	s.change(t, dir, strings.Replace(text, "  reader:", "  writer:", 1), inForce)
	if out := runSallyport(t, dir, "principals", "ls"); !strings.Contains(out, "writer") {
		t.Errorf("principals ls = %s, want the new one", out)
	}
}
