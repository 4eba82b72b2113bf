package serving

import (
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
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
	server := &http.Server{Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(newListener(l, slog.New(slog.DiscardHandler))) }()
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
