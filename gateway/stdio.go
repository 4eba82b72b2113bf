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
	// eofWait is how long running calls may go on after the end of the input. A
	// client that wants no more answers sends a signal; a command at the left
	// end of a pipe still wants them.
	eofWait = 10 * time.Second
	// maxPending bounds the calls of a stream that run at once. At the bound
	// the server stops reading the stream until a call ends.
	maxPending = 256
	// maxStreamListens bounds the requests of a stream that wait for changes. A
	// client can name everything that it wants to hear of in one request.
	maxStreamListens = 16
)

// Stdio serves one client over a pair of streams, one message per line, until
// the input ends or the context is cancelled. It answers a line that is not a
// message with an error and goes on with the next one. When the input ends,
// running calls are finished; when the context is cancelled, they are
// cancelled. The caller must not write anything else to out. Stdio closes both
// streams at the end.
func (s *Server) Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	stream := &streamConnection{session: newSession(), calls: running.New(0, 0)}
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
		lines.awaitCalls(stopWait)
		lines.closeSession(session, ended)
	}
	stream.calls.Stop()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	// The gate waits for a tool that ignores the cancellation.
	_ = stream.calls.Wait(stop)
	s.tasks.removeOfStream(stream)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// closeSession ends a session whose calls are over. It does not wait long, because a
// client that does not read can block a write for ever.
func (l *stdioTransport) closeSession(session *mcp.ServerSession, ended <-chan error) {
	// The result of ending the session no longer matters.
	go func() { _ = session.Close() }()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		_ = l.Close()
	}
}

// stdioTransport is the stdio transport: newline-delimited JSON. The library's own
// transport gives up at the first line that is not a message, and it drops
// running calls when the input ends.
type stdioTransport struct {
	server  *Server
	stream  *streamConnection
	ctx     context.Context // context of direct calls
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
	ids     map[any]context.CancelFunc // requests without an answer; nil for the library's
	listens map[any]struct{}           // those of ids that wait for changes
	pending int                        // requests whose answer is not written yet
	change  chan struct{}              // closed when pending shrinks; nil while no goroutine waits
}

func newLines(in io.ReadCloser, out io.WriteCloser) *stdioTransport {
	return &stdioTransport{
		in: in, out: out, incoming: make(chan jsonrpc.Message),
		ended: make(chan struct{}), closed: make(chan struct{}),
		ids: map[any]context.CancelFunc{}, listens: map[any]struct{}{},
	}
}

// Connect starts reading. It implements [mcp.Transport].
func (l *stdioTransport) Connect(context.Context) (mcp.Connection, error) {
	go l.readLines()
	return l, nil
}

// SessionID is empty: a stream is its own session.
func (l *stdioTransport) SessionID() string { return "" }

// readLines reads lines until the input ends. It runs in its own goroutine,
// because closing a stream may not end a blocked read (os.Stdin).
func (l *stdioTransport) readLines() {
	defer close(l.ended)
	r := bufio.NewReader(l.in)
	for {
		line, long, err := readLine(r)
		if len(bytes.TrimSpace(line)) > 0 || long {
			if !l.acceptLine(line, long) {
				l.err = io.EOF
				return
			}
		}
		if err != nil {
			l.awaitCalls(eofWait)
			l.err = l.readError(err)
			return
		}
	}
}

// readError returns the error with which reading ended. It is io.EOF if this side
// closed the stream.
func (l *stdioTransport) readError(err error) error {
	if l.isClosed() {
		return io.EOF
	}
	return err
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

// acceptLine hands a line to the library, or answers it when it is not a message.
// It returns false when the connection is closed.
func (l *stdioTransport) acceptLine(line []byte, long bool) bool {
	if long {
		l.writeFault(&messageFault{code: jsonrpc.CodeInvalidRequest, text: fmt.Sprintf("the message is longer than %d bytes", maxMessageBytes)})
		return true
	}
	e, err := openEnvelope(line)
	refused := (*messageFault)(nil)
	switch {
	case errors.As(err, &refused):
		l.writeFault(refused)
		return true
	case e.isIgnored():
		return true
	case e.method == "":
		return l.deliverAnswer(line)
	}
	if l.answerDirectly(&e) {
		return true
	}
	msg, err := e.libraryRequest()
	if err != nil {
		l.writeFault(&messageFault{id: e.id, code: jsonrpc.CodeInvalidRequest, text: "the id cannot be read"})
		return true
	}
	if msg.IsCall() {
		enter := l.beginRequest
		if e.method == methodListen {
			enter = l.beginListening
		}
		if !enter(msg.ID.Raw(), nil) {
			return true
		}
	}
	return l.passToLibrary(msg)
}

// passToLibrary hands a message to the library. It returns false when the connection is
// closed.
func (l *stdioTransport) passToLibrary(msg jsonrpc.Message) bool {
	select {
	case l.incoming <- msg:
		return true
	case <-l.closed:
		return false
	}
}

// deliverAnswer hands the client's answer to a question to the library, which drops
// answers to questions that it never asked.
func (l *stdioTransport) deliverAnswer(line []byte) bool {
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return true // it is not a request, so it has no answer
	}
	return l.passToLibrary(msg)
}

// isClosed reports whether the connection is closed. A line that a read still
// returns after that is dropped.
func (l *stdioTransport) isClosed() bool {
	select {
	case <-l.closed:
		return true
	default:
		return false
	}
}

// writeFault answers a line that never becomes a request.
func (l *stdioTransport) writeFault(f *messageFault) {
	// The write fails if the client has gone; reading then ends as well.
	_ = l.writeLocked(f.encodeReply())
}

func (l *stdioTransport) writeLocked(text []byte) error { return l.writeLine(append(text, '\n')) }

// writeLine sends one line.
func (l *stdioTransport) writeLine(line []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	_, err := l.out.Write(line)
	return err
}

// beginRequest records a request that wants an answer; cancel cancels it when it is a
// direct one. enter waits while too many requests are pending. If the id is in
// use, it refuses the request and returns false.
func (l *stdioTransport) beginRequest(key any, cancel context.CancelFunc) bool {
	if l.trackRequest(key, cancel) {
		return true
	}
	l.writeFault(&messageFault{code: jsonrpc.CodeInvalidRequest, text: "the id belongs to a request that has no answer yet"})
	return false
}

// beginListening records a request that is answered only when its client cancels it.
// Neither the next call nor the end of the input waits for that answer.
func (l *stdioTransport) beginListening(key any, _ context.CancelFunc) bool {
	l.mu.Lock()
	_, taken := l.ids[key]
	fits := len(l.listens) < maxStreamListens
	if !taken && fits {
		l.ids[key], l.listens[key] = nil, struct{}{}
	}
	l.mu.Unlock()
	switch {
	case taken:
		l.writeFault(&messageFault{code: jsonrpc.CodeInvalidRequest, text: "the id belongs to a request that has no answer yet"})
	case !fits:
		l.writeFault(&messageFault{code: jsonrpc.CodeInvalidRequest, text: "too many requests wait for changes"})
	}
	return !taken && fits
}

func (l *stdioTransport) trackRequest(key any, cancel context.CancelFunc) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending >= maxPending && l.awaitChange(nil) {
	}
	if _, taken := l.ids[key]; taken {
		return false
	}
	l.ids[key] = cancel
	l.pending++
	return true
}

// endRequest frees an id before its answer is written, because the client may use
// the id again as soon as it reads the answer. It reports whether the id counts
// as pending until that write.
func (l *stdioTransport) endRequest(key any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, listens := l.listens[key]
	delete(l.ids, key)
	delete(l.listens, key)
	return !listens
}

// markWritten records that an answer is written.
func (l *stdioTransport) markWritten() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	if l.change != nil {
		close(l.change)
		l.change = nil
	}
}

// awaitChange waits, with the lock released, until a call is answered. It returns
// false when the connection is closed or the timer fires.
func (l *stdioTransport) awaitChange(timer <-chan time.Time) bool {
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

// awaitCalls waits until every call is answered, but no longer than most.
func (l *stdioTransport) awaitCalls(most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending > 0 && l.awaitChange(timer.C) {
	}
}

// Read returns the next message. After the last one it returns io.EOF.
func (l *stdioTransport) Read(ctx context.Context) (jsonrpc.Message, error) {
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

// Write sends one message as a line.
func (l *stdioTransport) Write(ctx context.Context, msg jsonrpc.Message) error {
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
	if ok && l.endRequest(response.ID.Raw()) {
		defer l.markWritten()
	}
	return l.writeLocked(text)
}

// withCode gives a JSON-RPC code to an error of the library that has none: such
// errors are about requests that do not fit the state of the session.
func withCode(err error) error {
	if coded := (*jsonrpc.Error)(nil); err == nil || errors.As(err, &coded) {
		return err
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
}

// Close closes both streams.
func (l *stdioTransport) Close() error {
	var err error
	l.once.Do(func() {
		close(l.closed)
		err = errors.Join(l.in.Close(), l.out.Close())
	})
	return err
}
