package command

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sallyport/sallyport/internal/app"
)

// short is a listener that first fails with the error of a full descriptor
// table, and then accepts.
type short struct {
	net.Listener
	errs []error
}

func (s *short) Accept() (net.Conn, error) {
	if len(s.errs) > 0 {
		err := s.errs[0]
		s.errs = s.errs[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("epoll_ctl", err)}
	}
	return s.Listener.Accept()
}

// A child process of the same user may have used up all watches, descriptors or
// memory for a moment.
func TestA3_ServeOutlivesAcceptErrors(t *testing.T) {
	t.Parallel()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &short{plain, []error{
		syscall.ENOSPC, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED,
	}}
	rt := &app.Runtime{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	server := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(lastingListener(rt, l)) }()
	resp, err := http.Get("http://" + plain.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	server.Close()
	if err := <-ended; err != http.ErrServerClosed {
		t.Errorf("Serve = %v, want %v", err, http.ErrServerClosed)
	}
}

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
