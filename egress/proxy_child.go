package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// lingerBytes and lingerTime bound what is read after a last answer:
	// closing with unread bytes resets a connection, and the child would
	// lose the answer. net/http waits as long.
	lingerBytes = 256 << 10
	lingerTime  = 500 * time.Millisecond
	// copyBuffer is what a direction of a tunnel reads at once, as io.Copy
	// does.
	copyBuffer = 32 << 10
)

// childConn is a connection of the child. Every byte over it, in either
// direction, shows that it is alive; what goes through a tunnel or comes from
// a server passes here too.
type childConn struct {
	net.Conn
	r    *bufio.Reader
	idle *time.Timer
	wait time.Duration
	// shared is true when someone else may still read from r.
	shared bool
}

func newChildConn(conn net.Conn, idle *time.Timer, wait time.Duration) *childConn {
	c := &childConn{Conn: conn, idle: idle, wait: wait, r: readers.Get().(*bufio.Reader)}
	c.r.Reset(c)
	return c
}

func (c *childConn) releaseBuffer() {
	if !c.shared {
		c.r.Reset(nil)
		readers.Put(c.r)
	}
}

// Read reads past the buffer: it is what fills it.
func (c *childConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.idle.Reset(c.wait)
	}
	return n, err
}

func (c *childConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if n > 0 {
		c.idle.Reset(c.wait)
	}
	return n, err
}

// boundReading bounds reading from now on; 0 lifts the bound.
func (c *childConn) boundReading(d time.Duration) {
	if d == 0 {
		c.SetReadDeadline(time.Time{})
		return
	}
	c.SetReadDeadline(time.Now().Add(d))
}

// refuseWith answers with a text, for the last time on this connection.
func (c *childConn) refuseWith(status int, text string) {
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, http.StatusText(status), len(text)+1, text)
	c.awaitLastRead()
}

// awaitLastRead lets the child read the last answer before the connection
// closes.
func (c *childConn) awaitLastRead() {
	closeWrite(c.Conn)
	c.boundReading(lingerTime)
	io.CopyN(io.Discard, c.Conn, lingerBytes)
}

// bufferedConn is the connection with the bytes that are in the buffer already.
type bufferedConn struct{ *childConn }

func (b bufferedConn) Read(p []byte) (int, error) { return b.r.Read(p) }

// upstreamConn is a connection to a granted host, whose bytes are counted.
type upstreamConn struct {
	net.Conn
	use  *hostUse
	stop func() bool
}

// newUpstream returns the connection as one of a host's, which ends with ctx.
func (p *Proxy) newUpstream(ctx context.Context, conn net.Conn, host string, port uint16) *upstreamConn {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return &upstreamConn{Conn: conn, use: p.uses.entryFor(host, port, true), stop: stop}
}

func (u *upstreamConn) Read(p []byte) (int, error) {
	n, err := u.Conn.Read(p)
	u.use.received.Add(int64(n))
	return n, err
}

func (u *upstreamConn) Write(p []byte) (int, error) {
	n, err := u.Conn.Write(p)
	u.use.sent.Add(int64(n))
	return n, err
}

func (u *upstreamConn) Close() error {
	u.stop()
	return u.Conn.Close()
}

// closeWrite says that nothing more will come. A connection that cannot be
// closed by half stays open until the other half is.
func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		h.CloseWrite()
	}
}

var buffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// copyDirection copies one direction of a tunnel until its end, which it passes on.
// splice(2) is not used on purpose: it would hide from the idle timer whether
// anything moves, and the counts would come late.
func copyDirection(to io.Writer, half net.Conn, from io.Reader) error {
	buf := buffers.Get().(*[copyBuffer]byte)
	defer buffers.Put(buf)
	for {
		n, err := from.Read(buf[:])
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return err
			}
		}
		switch err {
		case nil:
		case io.EOF:
			closeWrite(half)
			return nil
		default:
			return err
		}
	}
}
