package listening

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
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
		l.(*patientListener).Listener.(*failing).errs = []error{syscall.EMFILE, syscall.EMFILE, syscall.EMFILE}
		time.AfterFunc(time.Millisecond, func() { l.Close() })
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept = %v after Close, want %v", err, net.ErrClosed)
		}
	})
}

const limitedVar = "SALLYPORT_TEST_LIMITED"

// The limit of descriptors is the process's, so that the test has one of its
// own.
func TestB12_ConnectionsLeaveAReserve(t *testing.T) {
	if os.Getenv(limitedVar) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestB12_ConnectionsLeaveAReserve$", "-test.v")
		cmd.Env = append(os.Environ(), limitedVar+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	// The clients are in the same process: those that are not accepted hold
	// descriptors of the reserve.
	const limit, reserve, clients, others = 200, 60, 90, 25
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatal(err)
	}
	if got := Share(4); got != limit/4 {
		t.Errorf("Share(4) = %d, want %d", got, limit/4)
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(plain, &Options{Reserve: reserve, Pause: 5 * time.Millisecond})
	defer l.Close()
	accepted := make(chan net.Conn, limit)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	var dialled []net.Conn
	for range clients {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		dialled = append(dialled, c)
	}
	// What connections left is open to others.
	time.Sleep(100 * time.Millisecond)
	var files []*os.File
	for range others {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatalf("with %d of %d connections accepted: %v", len(accepted), clients, err)
		}
		files = append(files, f)
	}
	if n := len(accepted); n == 0 || n == clients {
		t.Errorf("%d of %d connections were accepted, want some", n, clients)
	}
	for _, f := range files {
		f.Close()
	}
	// When some are gone, the others have their turn.
	for i, c := range dialled {
		served := <-accepted
		go io.WriteString(served, "x")
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		c.Close()
		served.Close()
	}
}
