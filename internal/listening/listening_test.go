package listening

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a listener whose first answers are errors.
type failing struct {
	net.Listener
	errs []error
}

func (f *failing) Accept() (net.Conn, error) {
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	c, _ := net.Pipe()
	return c, nil
}

func (f *failing) Close() error   { return nil }
func (f *failing) Addr() net.Addr { return &net.TCPAddr{} }

func TestA3_AcceptOutlivesAShortage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shortages := []error{
			syscall.EMFILE, syscall.ENFILE, syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS, syscall.ECONNABORTED,
		}
		var said bytes.Buffer
		f := &failing{}
		for range 20 {
			f.errs = append(f.errs, shortages...)
		}
		l := New(f, &Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
		begun := time.Now()
		if _, err := l.Accept(); err != nil {
			t.Fatalf("Accept = %v, want a connection after the shortage", err)
		}
		if took := time.Since(begun); took < 100*time.Second || took > 120*time.Second {
			t.Errorf("120 failures took %v, want a pause of a second after each but the first ones", took)
		}
		if n := strings.Count(said.String(), "\n"); n != 2 {
			t.Errorf("%d lines were logged in two minutes, want 2:\n%s", n, said.String())
		}
	})
}

func TestAcceptEndsWithItsListener(t *testing.T) {
	for _, end := range []error{net.ErrClosed, syscall.EBADF, syscall.EINVAL} {
		if _, err := New(&failing{errs: []error{end}}, nil).Accept(); !errors.Is(err, end) {
			t.Errorf("Accept = %v, want %v", err, end)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		l := New(&failing{errs: make([]error, 0)}, nil)
		l.(*patient).Listener.(*failing).errs = []error{syscall.EMFILE, syscall.EMFILE, syscall.EMFILE}
		time.AfterFunc(time.Millisecond, func() { l.Close() })
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v after Close, want %v", err, net.ErrClosed)
		}
	})
}
