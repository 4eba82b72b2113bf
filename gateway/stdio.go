package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/sallyport/sallyport"
	"github.com/sallyport/sallyport/gateway/internal/wire"
	"github.com/sallyport/sallyport/internal/running"
)

const (
	// eofWait is how long running calls may go on after the end of the input. A
	// client that wants no more answers sends a signal; a command at the left
	// end of a pipe still wants them.
	eofWait = 10 * time.Second
	// lastWait bounds how long the answers of calls are then written that have
	// been cancelled.
	lastWait = time.Second
)

// serveStdio serves one client until the input ends or the context is cancelled, and
// closes both streams.
func serveStdio(ctx context.Context, c *core, in io.ReadCloser, out io.WriteCloser) error {
	l := newStdioStream(c, openPolled(in), out)
	var cancel context.CancelFunc
	l.ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
	changed, remove := c.changes.addStream()
	defer remove()
	told := make(chan struct{})
	go func() {
		defer close(told)
		l.session.tellChanges(context.Background(), changed, l)
	}()
	go l.readLines()
	var err error
	answering := stopWait
	select {
	case <-l.ended:
		err, answering = l.err, lastWait
	case <-l.closed: // the client no longer reads; a read of its input may not end
	case <-ctx.Done():
	}
	l.calls.Stop()
	cancel()
	l.pending.awaitAll(answering)
	stop, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer done()
	// Their last answers come before the end of the stream. The gate waits for a
	// tool that ignores the cancellation.
	_ = errors.Join(l.listens.Wait(stop), l.calls.Wait(stop))
	// The result of ending the stream no longer matters. A client that does not
	// read can block a write until then.
	_ = l.close()
	<-told
	c.tasks.removeOfStream(&l.session)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// stdioStream is one client over a pair of streams: newline-delimited JSON.
type stdioStream struct {
	core    *core
	session session
	calls   *running.Set
	listens *running.Set    // requests that wait for changes
	ctx     context.Context // that of all requests

	in     io.ReadCloser
	out    io.WriteCloser
	ended  chan struct{} // closed after the last message; err is set then
	err    error
	closed chan struct{}
	once   sync.Once

	writing sync.Mutex // guards out

	pending pendingRequests
}

func newStdioStream(c *core, in io.ReadCloser, out io.WriteCloser) *stdioStream {
	l := &stdioStream{
		core: c, calls: running.New(0, 0), listens: running.New(0, 0), in: in, out: out,
		ended: make(chan struct{}), closed: make(chan struct{}),
	}
	l.session.id, l.session.gone = newSession(), l.closed
	l.session.who = func() (sallyport.Principal, bool) { return c.o.Principal(), true }
	l.pending = newPendingRequests(l.closed)
	return l
}

// readLines reads lines until the input ends. It runs in its own goroutine,
// because closing a stream may not end a blocked read (os.Stdin).
func (l *stdioStream) readLines() {
	defer close(l.ended)
	r := bufio.NewReader(l.in)
	for {
		line, long, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 || long {
			if l.isClosed() {
				l.err = io.EOF // the line is decided no more
				return
			}
			l.acceptLine(line, long)
		}
		if err != nil {
			l.pending.awaitAll(eofWait)
			if l.err = err; l.isClosed() {
				l.err = io.EOF // this side closed the stream
			}
			return
		}
	}
}

// readLine returns the next line. It keeps nothing of a line that is too long.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(line) > maxMessageBytes {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// acceptLine answers a line that is not a message, and begins to answer one that is
// a request.
func (l *stdioStream) acceptLine(line []byte, long bool) {
	if long {
		l.refuse(nil, fmt.Errorf("the message is longer than %d bytes", maxMessageBytes))
		return
	}
	m, err := openMessage(line)
	switch {
	case err != nil:
		l.refuse(m.ID, err)
	case m.Method == "":
		l.session.deliverAnswer(&m)
	case m.Method == methodCancelled:
		l.pending.cancelRequest(cancelledID(&m))
	case m.ID != nil:
		l.acceptRequest(&request{Message: m, carrier: l, rounds: m.Version >= statelessSince, session: &l.session, calls: l.calls, local: true})
	}
}

// acceptRequest answers a request in its own goroutine. What comes after the one that
// begins the session waits for its answer.
func (l *stdioStream) acceptRequest(r *request) {
	ctx, cancel := context.WithCancel(l.ctx)
	key := wire.IDKey(r.ID)
	if why := l.pending.beginRequest(key, cancel, r.Method == methodListen); why != "" {
		cancel()
		l.refuse(nil, errors.New(why))
		return
	}
	if r.Method == methodInitialize {
		defer cancel()
		l.answer(ctx, r, key)
		return
	}
	done := func() {}
	if r.Method == methodListen {
		_, done, _ = l.listens.Begin(ctx, "")
	}
	go func() {
		defer done()
		defer cancel()
		growStack(0)
		l.answer(ctx, r, key)
	}()
}

// growStack makes the stack of a goroutine as large as a call needs while it is
// empty: it would grow in steps, and be copied at each.
//
//go:noinline
func growStack(i int) byte {
	var room [20 << 10]byte
	return room[i]
}

func (l *stdioStream) answer(ctx context.Context, r *request, key any) {
	text := l.core.answers.getBuffer()
	defer l.core.answers.putBuffer(text)
	answer, _ := l.core.answerRequest(ctx, r, *text)
	*text = append(answer, '\n')
	if l.pending.endRequest(key) {
		defer l.pending.markWritten()
	}
	if l.writeLine(*text) != nil {
		// The client no longer reads.
		_ = l.close()
	}
}

// refuse answers a line that does not become a request.
func (l *stdioStream) refuse(id json.RawMessage, why error) {
	refused, ok := errors.AsType[*jsonrpc.Error](why)
	if !ok {
		refused = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why.Error()}
	}
	// The write fails if the client has gone; reading then ends as well.
	_ = l.send(wire.AppendError(nil, id, refused))
}

func (l *stdioStream) send(text []byte) error { return l.writeLine(append(text, '\n')) }

// writeLine writes one message, unless the stream is closed.
func (l *stdioStream) writeLine(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.isClosed() {
		return io.ErrClosedPipe
	}
	_, err := l.out.Write(line)
	return err
}

// isClosed reports whether the connection is closed. A line that a read still
// returns after that is dropped.
func (l *stdioStream) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

func (l *stdioStream) close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = errors.Join(l.in.Close(), l.out.Close())
	})
	return err
}
