package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport/sallyport/internal/running"
)

const (
	// eofWait is how long calls may go on when the input has ended. A client
	// that wants no answers says so with a signal; one at the left end of a
	// pipe wants them.
	eofWait = 10 * time.Second
	// maxPending bounds the calls of a stream that run at once. Beyond it the
	// stream is not read until one ends.
	maxPending = 256
	// maxStreamListens bounds the requests of a stream that wait for changes.
	// One names everything that a client wants to hear of.
	maxStreamListens = 16
)

// Stdio serves one client over a pair of streams, one message in a line, until
// the input ends or the context is cancelled. A line that is no message is
// answered with an error and the next one is read. When the input ends, calls
// that run are finished; when the context is cancelled, they are cancelled.
// Nothing else may write to out. Both streams are closed at the end.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	stream := &connection{session: newSession(), calls: running.New(0, 0)}
	lines := newLines(in, out)
	lines.server, lines.stream, lines.ctx = s, stream, context.WithoutCancel(ctx)
	session, err := s.mcp.Connect(context.WithValue(ctx, connectionKey{}, stream), lines, nil)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	lines.library.Store(session)
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		stream.calls.Stop()
		lines.drain(stopWait)
		lines.shut(session, ended)
	}
	stream.calls.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	// A tool that does not listen is the gate's to wait for.
	_ = stream.calls.Wait(stop)
	s.tasks.leave(stream)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// shut ends a session whose calls are over. A client that does not read can
// hold a write for ever, so that this does not wait for long either.
func (l *lines) shut(session *mcp.ServerSession, ended <-chan error) {
	// What the end of the session says does not matter any more.
	go func() { _ = session.Close() }()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		_ = l.Close()
	}
}

// lines is the stdio transport: newline-delimited JSON. The library's own
// gives up at the first line that is no message and drops the calls that run
// when the input ends.
type lines struct {
	server  *Server
	stream  *connection
	ctx     context.Context // of direct calls
	library atomic.Pointer[mcp.ServerSession]

	in       io.ReadCloser
	out      io.WriteCloser
	incoming chan jsonrpc.Message
	ended    chan struct{} // closed after the last message; err is set then
	err      error
	closed   chan struct{}
	once     sync.Once

	writing sync.Mutex // guards out

	mu      sync.Mutex                 // guards what follows
	ids     map[any]context.CancelFunc // of requests without an answer; nil for the library's
	listens map[any]struct{}           // those of them that wait for changes
	pending int                        // requests whose answer is not written yet
	change  chan struct{}              // closed when pending shrinks; nil while nobody waits
}

func newLines(in io.ReadCloser, out io.WriteCloser) *lines {
	return &lines{
		in: in, out: out, incoming: make(chan jsonrpc.Message),
		ended: make(chan struct{}), closed: make(chan struct{}),
		ids: map[any]context.CancelFunc{}, listens: map[any]struct{}{},
	}
}

// Connect starts reading. It implements [mcp.Transport].
func (l *lines) Connect(context.Context) (mcp.Connection, error) {
	go l.receive()
	return l, nil
}

// SessionID is empty: a stream is its own session.
func (l *lines) SessionID() string { return "" }

// receive reads lines until the input ends. Closing a stream may not end a
// read that waits (os.Stdin), so that it has a goroutine of its own.
func (l *lines) receive() {
	defer close(l.ended)
	r := bufio.NewReader(l.in)
	for {
		line, long, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 || long {
			if !l.accept(line, long) {
				l.err = io.EOF
				return
			}
		}
		if err != nil {
			l.drain(eofWait)
			l.err = l.cause(err)
			return
		}
	}
}

// cause is the error with which reading ended: a stream that was closed here
// has just ended.
func (l *lines) cause(err error) error {
	if l.over() {
		return io.EOF
	}
	return err
}

// readLine returns the next line. Of one that is too long nothing is kept.
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

// accept hands a line to the library, or answers it when it is no message. It
// returns false when the connection is closed.
func (l *lines) accept(line []byte, long bool) bool {
	if long {
		l.refuse(&fault{code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("the message is longer than %d bytes", maxMessageBytes)})
		return true
	}
	e, err := open(line)
	refused := (*fault)(nil)
	switch {
	case errors.As(err, &refused):
		l.refuse(refused)
		return true
	case e.ignored():
		return true
	case e.method == "":
		return l.answered(line)
	}
	if l.direct(&e) {
		return true
	}
	msg, err := e.request()
	if err != nil {
		l.refuse(&fault{id: e.id, code: jsonrpc.CodeInvalidRequest, text: "the id cannot be read"})
		return true
	}
	if msg.IsCall() {
		enter := l.enter
		if e.method == methodListen {
			enter = l.listen
		}
		if !enter(msg.ID.Raw(), nil) {
			return true
		}
	}
	return l.give(msg)
}

// give hands a message to the library. It returns false when the connection is
// closed.
func (l *lines) give(msg jsonrpc.Message) bool {
	select {
	case l.incoming <- msg:
		return true
	case <-l.closed:
		return false
	}
}

// answered hands the answer to a question over. The library drops those to
// questions that it never asked.
func (l *lines) answered(line []byte) bool {
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return true // it is no request that would want an answer
	}
	return l.give(msg)
}

// over reports whether the connection is closed: a line that a read still
// brings then is nobody's.
func (l *lines) over() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// refuse answers a line that never becomes a request.
func (l *lines) refuse(f *fault) {
	// A client that is gone cannot be told; reading will end as well.
	_ = l.print(f.reply())
}

func (l *lines) print(text []byte) error { return l.write(append(text, '\n')) }

// write sends one line.
func (l *lines) write(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(line)
	return err
}

// enter notes a request that wants an answer, with what cancels it when it is a
// direct one. It waits while too many do. One whose id is in use is refused,
// and enter returns false.
func (l *lines) enter(key any, cancel context.CancelFunc) bool {
	if l.note(key, cancel) {
		return true
	}
	l.refuse(&fault{code: jsonrpc.CodeInvalidRequest, text: "the id belongs to a request that has no answer yet"})
	return false
}

// listen notes a request that has an answer only when its client cancels it:
// neither the next call nor the end of the input waits for that.
func (l *lines) listen(key any, _ context.CancelFunc) bool {
	l.mu.Lock()
	_, taken := l.ids[key]
	fits := len(l.listens) < maxStreamListens
	if !taken && fits {
		l.ids[key], l.listens[key] = nil, struct{}{}
	}
	l.mu.Unlock()
	switch {
	case taken:
		l.refuse(&fault{code: jsonrpc.CodeInvalidRequest, text: "the id belongs to a request that has no answer yet"})
	case !fits:
		l.refuse(&fault{code: jsonrpc.CodeInvalidRequest, text: "too many requests wait for changes"})
	}
	return !taken && fits
}

func (l *lines) note(key any, cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending >= maxPending && l.await(nil) {
	}
	if _, taken := l.ids[key]; taken {
		return false
	}
	l.ids[key] = cancel
	l.pending++
	return true
}

// forget frees an id: who reads an answer may use its id again at once. It
// reports whether somebody waits for that answer to be written.
func (l *lines) forget(key any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, listens := l.listens[key]
	delete(l.ids, key)
	delete(l.listens, key)
	return !listens
}

// leave notes that an answer is written.
func (l *lines) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	if l.change != nil {
		close(l.change)
		l.change = nil
	}
}

// await waits, with the lock released, for a call to be answered. It returns
// false when the connection is closed or the timer fires.
func (l *lines) await(timer <-chan time.Time) bool {
	if l.change == nil {
		l.change = make(chan struct{})
	}
	change := l.change
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-change:
		return true
	case <-timer:
	case <-l.closed:
	}
	return false
}

// drain waits until every call is answered, but no longer than most.
func (l *lines) drain(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending > 0 && l.await(timer.C) {
	}
}

// Read returns the next message. After the last one it returns io.EOF.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-l.incoming:
		return msg, nil
	case <-l.ended:
		return nil, l.err
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write sends one message in a line.
func (l *lines) Write(ctx context.Context, msg jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	response, ok := msg.(*jsonrpc.Response)
	if ok {
		response.Error = withCode(response.Error)
	}
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("gateway: a message cannot be encoded: %w", err)
	}
	if ok && l.forget(response.ID.Raw()) {
		defer l.leave()
	}
	return l.print(text)
}

// withCode gives an error of the library that has no code of JSON-RPC one:
// they are about requests that do not fit the state of the session.
func withCode(err error) error {
	if coded := (*jsonrpc.Error)(nil); err == nil || errors.As(err, &coded) {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}

// Close closes both streams.
func (l *lines) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = errors.Join(l.in.Close(), l.out.Close())
	})
	return err
}
